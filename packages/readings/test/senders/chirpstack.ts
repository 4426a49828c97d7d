import type { SenderMessage } from './sender-message.ts';

/** ChirpStack version 4, and version 3 with decoded objects. */
export const chirpstack: readonly SenderMessage[] = [
  {
    source:
      'tago-io/decoders, decoders/network/lorawan-chirpstack/v1.0.0/payload.test.ts (topic of chirpstack/chirpstack-docs, src/chirpstack/integrations/mqtt.md)',
    topic: 'application/0b652419-836c-4b00-87bd-bb16cf48f2ec/device/70b3d5770800030f/event/up',
    payload:
      '{"devAddr":"0174ec8f","fCnt":1291,"fPort":4,"deduplicationId":"56a40107-8313-41c5-a69a-2aaa2d1318ae","time":"2024-10-25T12:31:52.735961+00:00","deviceInfo":{"tenantId":"6cf37511-7452-4c2d-9953-dee26c88f1a3","tenantName":"Shemesh Aduma Leak","applicationId":"0b652419-836c-4b00-87bd-bb16cf48f2ec","applicationName":"Shemesh Aduma Leak","deviceProfileId":"767bcc59-e5a5-4a05-ac4f-634d6caeaa94","deviceProfileName":"StregaFull5.0","deviceName":"Floor 06","devEui":"70b3d5770800030f","deviceClassEnabled":"CLASS_C","tags":{}},"adr":true,"dr":5,"confirmed":false,"object":{"Process":"true","Port":4,"Temperature":125,"Tamper":"0","Valve":"1","Class":"1","Battery":null,"DI_0":"0","Hygrometry":100,"DI_1":"0","Fraud":"0","Counter":1624,"Cable":"1","Status":"00000101","Leakage":"0","Power":"1"},"rxInfo":[{"gatewayId":"a84041ffff277c7c","uplinkId":59972,"gwTime":"2024-10-25T12:31:52.735961+00:00","nsTime":"2024-10-25T12:31:53.074484545+00:00","rssi":-101,"snr":10.8,"channel":5,"rfChain":1,"location":{},"context":"FIRLCQ==","metadata":{"region_config_id":"as923_4","region_common_name":"AS923_4"},"crcStatus":"CRC_OK"}],"txInfo":{"frequency":918300000,"modulation":{"lora":{"bandwidth":125000,"spreadingFactor":7,"codeRate":"CR_4_5"}}},"payload":"8DAxMzUj/////0MwMDA2NTgjQw=="}',
    preset: 'chirpstack',
    time: '2024-10-25T12:31:52.735961Z',
    readings: [
      ['70b3d5770800030f', 'fCnt', 1291],
      ['70b3d5770800030f', 'dr', 5],
      ['70b3d5770800030f', 'Process', 'true'],
      ['70b3d5770800030f', 'Port', 4],
      ['70b3d5770800030f', 'Temperature', 125],
      ['70b3d5770800030f', 'Tamper', 0],
      ['70b3d5770800030f', 'Valve', 1],
      ['70b3d5770800030f', 'Class', 1],
      ['70b3d5770800030f', 'DI_0', 0],
      ['70b3d5770800030f', 'Hygrometry', 100],
      ['70b3d5770800030f', 'DI_1', 0],
      ['70b3d5770800030f', 'Fraud', 0],
      ['70b3d5770800030f', 'Counter', 1624],
      ['70b3d5770800030f', 'Cable', 1],
      ['70b3d5770800030f', 'Status', '00000101'],
      ['70b3d5770800030f', 'Leakage', 0],
      ['70b3d5770800030f', 'Power', 1],
      ['70b3d5770800030f', 'rssi', -101],
      ['70b3d5770800030f', 'snr', 10.8],
    ],
    units: { rssi: 'dBm', snr: 'dB' },
    ignored: ['object.Battery'],
    auto: 'values',
  },
  {
    source: 'chirpstack/chirpstack-docs, src/chirpstack/integrations/events.md (an uplink without a decoder)',
    topic: 'application/17c82e96-be03-4f38-aef3-f83d48582d97/device/0101010101010101/event/up',
    payload:
      '{"deduplicationId":"3ac7e3c4-4401-4b8d-9386-a5c902f9202d","time":"2022-07-18T09:34:15.775023242+00:00","deviceInfo":{"tenantId":"52f14cd4-c6f1-4fbd-8f87-4025e1d49242","tenantName":"ChirpStack","applicationId":"17c82e96-be03-4f38-aef3-f83d48582d97","applicationName":"Test application","deviceProfileId":"14855bf7-d10d-4aee-b618-ebfcb64dc7ad","deviceProfileName":"Test device-profile","deviceName":"Test device","devEui":"0101010101010101","tags":{"key":"value"}},"devAddr":"00189440","dr":1,"fPort":1,"data":"qg==","rxInfo":[{"gatewayId":"0016c001f153a14c","uplinkId":4217106255,"rssi":-36,"snr":10.5,"context":"E3OWOQ==","metadata":{"region_name":"eu868","region_common_name":"EU868"}}],"txInfo":{"frequency":867100000,"modulation":{"lora":{"bandwidth":125000,"spreadingFactor":11,"codeRate":"CR_4_5"}}}}',
    preset: 'chirpstack',
    time: '2022-07-18T09:34:15.775023Z',
    readings: [
      ['0101010101010101', 'dr', 1],
      ['0101010101010101', 'rssi', -36],
      ['0101010101010101', 'snr', 10.5],
    ],
    auto: 'values',
  },
  {
    source: 'chirpstack/chirpstack-docs, src/chirpstack/integrations/events.md',
    topic: 'application/17c82e96-be03-4f38-aef3-f83d48582d97/device/0101010101010101/event/status',
    payload:
      '{"deduplicationId":"bf2a9746-1c8b-49be-a92e-f0b89c8534e4","time":"2022-07-18T09:35:06.927172638+00:00","deviceInfo":{"tenantId":"52f14cd4-c6f1-4fbd-8f87-4025e1d49242","tenantName":"ChirpStack","applicationId":"17c82e96-be03-4f38-aef3-f83d48582d97","applicationName":"Test application","deviceProfileId":"14855bf7-d10d-4aee-b618-ebfcb64dc7ad","deviceProfileName":"Test device-profile","deviceName":"Test device","devEui":"0101010101010101"},"margin":10,"batteryLevel":88.3}',
    preset: 'chirpstack',
    time: '2022-07-18T09:35:06.927172Z',
    readings: [
      ['0101010101010101', 'margin', 10],
      ['0101010101010101', 'batteryLevel', 88.3],
    ],
    units: { margin: 'dB', batteryLevel: '%EL' },
    auto: 'values',
  },
  {
    source: 'chirpstack/chirpstack-docs, src/chirpstack/integrations/events.md',
    topic: 'application/17c82e96-be03-4f38-aef3-f83d48582d97/device/0101010101010101/event/join',
    payload:
      '{"deduplicationId":"c9dbe358-2578-4fb7-b295-66b44edc45a6","time":"2022-07-18T09:33:28.823500726+00:00","deviceInfo":{"tenantId":"52f14cd4-c6f1-4fbd-8f87-4025e1d49242","tenantName":"ChirpStack","applicationId":"17c82e96-be03-4f38-aef3-f83d48582d97","applicationName":"Test application","deviceProfileId":"14855bf7-d10d-4aee-b618-ebfcb64dc7ad","deviceProfileName":"Test device-profile","deviceName":"Test device","devEui":"0101010101010101","tags":{"key":"value"}},"devAddr":"00189440"}',
    preset: 'chirpstack',
    readings: [],
  },
  {
    source: 'chirpstack/chirpstack-docs, src/chirpstack/integrations/events.md',
    topic: 'application/17c82e96-be03-4f38-aef3-f83d48582d97/device/0101010101010101/event/location',
    payload:
      '{"deduplicationId":"63d870b9-b769-4d88-8b33-8e43f58851a7","time":"2022-07-18T09:55:11.059481003+00:00","deviceInfo":{"tenantId":"52f14cd4-c6f1-4fbd-8f87-4025e1d49242","tenantName":"ChirpStack","applicationId":"17c82e96-be03-4f38-aef3-f83d48582d97","applicationName":"Test application","deviceProfileId":"14855bf7-d10d-4aee-b618-ebfcb64dc7ad","deviceProfileName":"Test device-profile","deviceName":"Test device","devEui":"0101010101010101","tags":{"key":"value"}},"location":{"latitude":37.344214,"longitude":-8.839375,"altitude":2}}',
    preset: 'chirpstack',
    time: '2022-07-18T09:55:11.059481Z',
    readings: [
      ['0101010101010101', 'location.latitude', 37.344214],
      ['0101010101010101', 'location.longitude', -8.839375],
      ['0101010101010101', 'location.altitude', 2],
    ],
    auto: 'values',
  },
  {
    source:
      'diwise/iot-agent, internal/pkg/application/decoder/milesight/decoders.milesight_test.go (version 3)',
    topic: 'application/71/device/24e124725c140542/event/up',
    payload:
      '{"applicationID":"71","applicationName":"ncksalnckls","deviceName":"AM103_1","deviceProfileName":"Milesight AM100","deviceProfileID":"c6a3467d-519d-4861-8e90-ba13a7b7c9ee","devEUI":"24e124725c140542","txInfo":{"frequency":868100000,"dr":5},"adr":true,"fCnt":10901,"fPort":5,"data":"AXVZA2ffAARoOgd9dgM=","object":{"battery":89,"co2":886,"humidity":29,"temperature":22.3},"tags":{"location":"599A","mount":"wall"}}',
    preset: 'chirpstack',
    readings: [
      ['24e124725c140542', 'fCnt', 10901],
      ['24e124725c140542', 'battery', 89],
      ['24e124725c140542', 'co2', 886],
      ['24e124725c140542', 'humidity', 29],
      ['24e124725c140542', 'temperature', 22.3],
    ],
    auto: 'values',
  },
  {
    source: 'brocaar/chirpstack-application-server, issue 502 (version 3, without a decoder)',
    topic: 'application/2/device/123/event/up',
    payload:
      '{"applicationID":"2","applicationName":"klax-strom-app","deviceName":"klax-strom-koelnerstr533","devEUI":"123","rxInfo":[{"gatewayID":"123","uplinkID":"a0d00639-cc37-4cff-8490-29be51208cc4","name":"lorixone-ks33","rssi":-97,"loRaSNR":8.2,"location":{"latitude":1,"longitude":1,"altitude":1}}],"txInfo":{"frequency":868300000,"dr":5},"adr":true,"fCnt":261,"fPort":3,"data":"123"}',
    preset: 'chirpstack',
    readings: [
      ['123', 'fCnt', 261],
      ['123', 'rssi', -97],
      ['123', 'snr', 8.2],
    ],
    units: { rssi: 'dBm', snr: 'dB' },
  },
  {
    source: 'helium/mappers, pull request 130 (version 4; shortened, without the masked numbers)',
    topic: 'application/xxx/device/818b1b730405d0cf/event/up',
    payload:
      '{"deduplicationId":"xxx","time":"2024-07-23T03:15:37.161+00:00","deviceInfo":{"tenantName":"Joey","devEui":"818b1b730405d0cf","tags":{}},"devAddr":"78000003","adr":false,"dr":3,"fCnt":12,"fPort":2,"confirmed":false,"data":"xxx","object":{"altitude":29.0,"speed":0.0,"battery":3.98,"sats":12.0,"accuracy":2.5},"rxInfo":[{"gatewayId":"464060cab5062e5a","uplinkId":57654,"gwTime":"2024-07-23T03:15:36.161+00:00","rssi":-106,"snr":-3.0,"context":"tKJtsQ==","metadata":{"region_common_name":"US915"}}]}',
    preset: 'chirpstack',
    time: '2024-07-23T03:15:37.161000Z',
    readings: [
      ['818b1b730405d0cf', 'dr', 3],
      ['818b1b730405d0cf', 'fCnt', 12],
      ['818b1b730405d0cf', 'altitude', 29],
      ['818b1b730405d0cf', 'speed', 0],
      ['818b1b730405d0cf', 'battery', 3.98],
      ['818b1b730405d0cf', 'sats', 12],
      ['818b1b730405d0cf', 'accuracy', 2.5],
      ['818b1b730405d0cf', 'rssi', -106],
      ['818b1b730405d0cf', 'snr', -3],
    ],
  },
  {
    source: 'brocaar/chirpstack-docs, issue 34 (an acknowledgement, with the counter of downlinks)',
    topic: 'application/2/device/0e6e3171decd91c8/event/ack',
    payload:
      '{"applicationID":"2","applicationName":"test-app","deviceName":"dev0","devEUI":"Dm4xcd7Nkcg=","acknowledged":true,"fCnt":773,"tags":{}}',
    preset: 'chirpstack',
    readings: [],
  },
];
