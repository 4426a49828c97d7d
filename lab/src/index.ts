export { freePort, launchServer, type ServerProcess, temporaryDirectory } from '@tidegauge/process';
export { findProgram, installDebian } from './debian.ts';
export { type EmbeddedBroker, type EmbeddedBrokerOptions, startEmbeddedBroker } from './embedded-broker.ts';
export { type Mosquitto, type MosquittoOptions, startMosquitto } from './mosquitto.ts';
