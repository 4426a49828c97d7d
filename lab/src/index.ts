export { type EmbeddedBroker, type EmbeddedBrokerOptions, startEmbeddedBroker } from './embedded-broker.ts';
export { type Mosquitto, type MosquittoOptions, startMosquitto } from './mosquitto.ts';
