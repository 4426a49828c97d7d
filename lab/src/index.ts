export { findProgram, installDebian } from './debian.ts';
export { type EmbeddedBroker, type EmbeddedBrokerOptions, startEmbeddedBroker } from './embedded-broker.ts';
export { type Mosquitto, type MosquittoOptions, startMosquitto } from './mosquitto.ts';
export { freePort, launchServer, type ServerProcess, temporaryDirectory } from './server-process.ts';
