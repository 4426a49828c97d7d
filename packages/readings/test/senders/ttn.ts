import type { SenderMessage } from './sender-message.ts';

/** The Things Stack (The Things Network v3). */
export const ttn: readonly SenderMessage[] = [
  {
    source: 'koestler/go-mqtt-to-influx, converter/ttn-dragino_test.go',
    topic: 'v3/piegn@ttn/devices/lsn50-temp-0/up',
    payload:
      '{"end_device_ids":{"device_id":"lht52-temp-0","application_ids":{"application_id":"piegn"},"dev_eui":"A8404188A184579F","join_eui":"A840410000000100","dev_addr":"260BC1C2"},"correlation_ids":["as:up:01GBBDKJT4C0CH8SZNZE92HQBT","gs:conn:01GBAYF8X1EA1GRCQ40BQ1VDRY","gs:up:host:01GBAYF8X9AD21GXYEAKZYFXYP","gs:uplink:01GBBDKJKM548KSK2W5P3PT5WS","ns:uplink:01GBBDKJKNE18PQH576PNK6AN7","rpc:/ttn.lorawan.v3.GsNs/HandleUplink:01GBBDKJKN8DCF63NPD4K6Q1DM","rpc:/ttn.lorawan.v3.NsAs/HandleUplink:01GBBDKJT317S4RHZW570PXNFB"],"received_at":"2022-08-25T21:12:53.828332832Z","uplink_message":{"session_key_id":"AYJyWmbZaAS/afxNG6hOKw==","f_port":2,"f_cnt":1445,"frm_payload":"Cz0B9H//AWMH5bY=","decoded_payload":{"Ext":1,"Hum_SHT":50,"Systimestamp":1661461942,"TempC_DS":327.67,"TempC_SHT":28.77},"rx_metadata":[{"gateway_ids":{"gateway_id":"piegn-0","eui":"DCA632FFFEA53817"},"time":"2022-08-25T21:12:53.549410Z","timestamp":2983740355,"rssi":-103,"channel_rssi":-103,"snr":-4.75,"uplink_token":"ChUKEwoHcGllZ24tMBII3KYy//6lOBcQw4fhjgsaDAjVy5+YBhDP3eanAiC446Km680DKgwI1cufmAYQ0Kn9hQI=","gps_time":"2022-08-25T21:12:53.549410Z","received_at":"2022-08-25T21:12:53.604523434Z"}],"settings":{"data_rate":{"lora":{"bandwidth":125000,"spreading_factor":7}},"coding_rate":"4/5","frequency":"868100000","timestamp":2983740355,"time":"2022-08-25T21:12:53.549410Z"},"received_at":"2022-08-25T21:12:53.621251971Z","consumed_airtime":"0.061696s","version_ids":{"brand_id":"dragino","model_id":"lht52","hardware_version":"_unknown_hw_version_","firmware_version":"1.0","band_id":"EU_863_870"},"network_ids":{"net_id":"000013","tenant_id":"ttn","cluster_id":"eu1","cluster_address":"eu1.cloud.thethings.network"}}}',
    preset: 'ttn',
    time: '2022-08-25T21:12:53.621251Z',
    readings: [
      ['piegn@ttn/lsn50-temp-0', 'f_cnt', 1445],
      ['piegn@ttn/lsn50-temp-0', 'Ext', 1],
      ['piegn@ttn/lsn50-temp-0', 'Hum_SHT', 50],
      ['piegn@ttn/lsn50-temp-0', 'Systimestamp', 1661461942],
      ['piegn@ttn/lsn50-temp-0', 'TempC_DS', 327.67],
      ['piegn@ttn/lsn50-temp-0', 'TempC_SHT', 28.77],
      ['piegn@ttn/lsn50-temp-0', 'rssi', -103],
      ['piegn@ttn/lsn50-temp-0', 'snr', -4.75],
    ],
    units: { rssi: 'dBm', snr: 'dB' },
    auto: 'no',
  },
  {
    source: 'koestler/go-mqtt-to-influx, converter/ttn-dragino_test.go',
    topic: 'v3/piegn@ttn/devices/lsn50-temp-2/up',
    payload:
      '{"end_device_ids":{"device_id":"lsn50-temp-2","application_ids":{"application_id":"piegn"},"dev_eui":"A840415E818498DF","join_eui":"A840410000000101","dev_addr":"260B3B83"},"correlation_ids":["as:up:01GBBDJ4KD0250B9QNZWFYJ2PT","gs:conn:01GBAYF8X1EA1GRCQ40BQ1VDRY","gs:up:host:01GBAYF8X9AD21GXYEAKZYFXYP","gs:uplink:01GBBDJ4CWEEZC6X87M4S2GKNK","ns:uplink:01GBBDJ4CXYVTT6SPGKTETPES9","rpc:/ttn.lorawan.v3.GsNs/HandleUplink:01GBBDJ4CXMK7BZ0FACF8V03MQ","rpc:/ttn.lorawan.v3.NsAs/HandleUplink:01GBBDJ4KCM2Z8HNFBJ3SBP97G"],"received_at":"2022-08-25T21:12:06.509402131Z","uplink_message":{"session_key_id":"AYJp/NotlCyht+iBV0/mfA==","f_port":2,"f_cnt":1522,"frm_payload":"DlQAAAERAADdAnM=","decoded_payload":{"ADC_CH0V":0.273,"BatV":3.668,"Digital_IStatus":"L","Door_status":"OPEN","EXTI_Trigger":"FALSE","Hum_SHT":62.7,"TempC1":0,"TempC_SHT":22.1,"Work_mode":"IIC"},"rx_metadata":[{"gateway_ids":{"gateway_id":"piegn-0","eui":"DCA632FFFEA53817"},"time":"2022-08-25T21:12:06.248346Z","timestamp":2936439283,"rssi":-91,"channel_rssi":-91,"snr":8.25,"uplink_token":"ChUKEwoHcGllZ24tMBII3KYy//6lOBcQ84Oa+AoaDAimy5+YBhDi+raPASC4uq6Lu8wDKgsIpsufmAYQkOu1dg==","gps_time":"2022-08-25T21:12:06.248346Z","received_at":"2022-08-25T21:12:06.286328391Z"}],"settings":{"data_rate":{"lora":{"bandwidth":125000,"spreading_factor":7}},"coding_rate":"4/5","frequency":"867100000","timestamp":2936439283,"time":"2022-08-25T21:12:06.248346Z"},"received_at":"2022-08-25T21:12:06.301646615Z","consumed_airtime":"0.061696s","version_ids":{"brand_id":"dragino","model_id":"lsn50v2-s31","hardware_version":"_unknown_hw_version_","firmware_version":"1.0","band_id":"EU_863_870"},"network_ids":{"net_id":"000013","tenant_id":"ttn","cluster_id":"eu1","cluster_address":"eu1.cloud.thethings.network"}}}',
    preset: 'ttn',
    time: '2022-08-25T21:12:06.301646Z',
    readings: [
      ['piegn@ttn/lsn50-temp-2', 'f_cnt', 1522],
      ['piegn@ttn/lsn50-temp-2', 'ADC_CH0V', 0.273],
      ['piegn@ttn/lsn50-temp-2', 'BatV', 3.668],
      ['piegn@ttn/lsn50-temp-2', 'Digital_IStatus', 'L'],
      ['piegn@ttn/lsn50-temp-2', 'Door_status', 'OPEN'],
      ['piegn@ttn/lsn50-temp-2', 'EXTI_Trigger', 'FALSE'],
      ['piegn@ttn/lsn50-temp-2', 'Hum_SHT', 62.7],
      ['piegn@ttn/lsn50-temp-2', 'TempC1', 0],
      ['piegn@ttn/lsn50-temp-2', 'TempC_SHT', 22.1],
      ['piegn@ttn/lsn50-temp-2', 'Work_mode', 'IIC'],
      ['piegn@ttn/lsn50-temp-2', 'rssi', -91],
      ['piegn@ttn/lsn50-temp-2', 'snr', 8.25],
    ],
    auto: 'no',
  },
  {
    source: 'koestler/go-mqtt-to-influx, converter/ttn-sensecap_test.go',
    topic: 'v3/piegn@ttn/devices/s2120-0/up',
    payload: String.raw`{
    "end_device_ids": {
        "device_id": "s2120-0",
        "application_ids": {
            "application_id": "piegn"
        },
        "dev_eui": "2CF7F1C0443003DD",
        "join_eui": "53D800BB13E0ED90",
        "dev_addr": "260BC756"
    },
    "correlation_ids": [
        "gs:uplink:01HMPDTHDAX6ERYA9PDK7CSSJ4"
    ],
    "received_at": "2024-01-21T16:31:55.513418143Z",
    "uplink_message": {
        "session_key_id": "AY0sCQ6M4uie08eWl9Uo+g==",
        "f_port": 3,
        "f_cnt": 58,
        "frm_payload": "AQASIwAAAHAAAAACACoAAAAAJhg=",
        "decoded_payload": {
            "err": 0,
            "messages": [
                {
                    "measurementId": "4097",
                    "measurementValue": 1.8,
                    "type": "Air Temperature"
                },
                {
                    "measurementId": "4098",
                    "measurementValue": 35,
                    "type": "Air Humidity"
                },
                {
                    "measurementId": "4099",
                    "measurementValue": 112,
                    "type": "Light Intensity"
                },
                {
                    "measurementId": "4190",
                    "measurementValue": 0,
                    "type": "UV Index"
                },
                {
                    "measurementId": "4105",
                    "measurementValue": 0,
                    "type": "Wind Speed"
                },
                {
                    "measurementId": "4104",
                    "measurementValue": 42,
                    "type": "Wind Direction Sensor"
                },
                {
                    "measurementId": "4113",
                    "measurementValue": 0,
                    "type": "Rain Gauge"
                },
                {
                    "measurementId": "4101",
                    "measurementValue": 97520,
                    "type": "Barometric Pressure"
                }
            ],
            "payload": "010012230000007000000002002A000000002618",
            "valid": true
        },
        "rx_metadata": [
            {
                "gateway_ids": {
                    "gateway_id": "piegn-srv3",
                    "eui": "E45F01FFFEDECBE3"
                },
                "time": "2024-01-21T16:31:55.184858083Z",
                "timestamp": 3570357122,
                "rssi": -82,
                "channel_rssi": -82,
                "snr": 5.75,
                "uplink_token": "ChgKFgoKcGllZ24tc3J2MxII5F8B\/\/7ey+MQgqe9pg0aDAj7jbWtBhC4\/\/mRASDQ5\/jO9LES",
                "received_at": "2024-01-21T16:31:55.264975183Z"
            }
        ],
        "settings": {
            "data_rate": {
                "lora": {
                    "bandwidth": 125000,
                    "spreading_factor": 7,
                    "coding_rate": "4\/5"
                }
            },
            "frequency": "867900000",
            "timestamp": 3570357122,
            "time": "2024-01-21T16:31:55.184858083Z"
        },
        "received_at": "2024-01-21T16:31:55.307162234Z",
        "confirmed": true,
        "consumed_airtime": "0.071936s",
        "version_ids": {
            "brand_id": "sensecap",
            "model_id": "sensecaps2120-8-in-1",
            "hardware_version": "1.0",
            "firmware_version": "1.0",
            "band_id": "EU_863_870"
        },
        "network_ids": {
            "net_id": "000013",
            "ns_id": "EC656E0000000181",
            "tenant_id": "ttn",
            "cluster_id": "eu1",
            "cluster_address": "eu1.cloud.thethings.network"
        }
    }
}`,
    preset: 'ttn',
    time: '2024-01-21T16:31:55.307162Z',
    readings: [
      ['piegn@ttn/s2120-0', 'f_cnt', 58],
      ['piegn@ttn/s2120-0', 'err', 0],
      ['piegn@ttn/s2120-0', 'Air~20Temperature', 1.8],
      ['piegn@ttn/s2120-0', 'Air~20Humidity', 35],
      ['piegn@ttn/s2120-0', 'Light~20Intensity', 112],
      ['piegn@ttn/s2120-0', 'UV~20Index', 0],
      ['piegn@ttn/s2120-0', 'Wind~20Speed', 0],
      ['piegn@ttn/s2120-0', 'Wind~20Direction~20Sensor', 42],
      ['piegn@ttn/s2120-0', 'Rain~20Gauge', 0],
      ['piegn@ttn/s2120-0', 'Barometric~20Pressure', 97520],
      ['piegn@ttn/s2120-0', 'valid', 1],
      ['piegn@ttn/s2120-0', 'rssi', -82],
      ['piegn@ttn/s2120-0', 'snr', 5.75],
    ],
    auto: 'no',
  },
  {
    source: 'koestler/go-mqtt-to-influx, converter/ttn-fencyboy_test.go',
    topic: 'v3/piegn@ttn/devices/fencyboy-0/up',
    payload: `{
    "@type": "type.googleapis.com/ttn.lorawan.v3.ApplicationUp",
    "end_device_ids": {
      "device_id": "fencyboy-0",
      "application_ids": {
        "application_id": "piegn"
      },
      "dev_eui": "2B94F841240A45D3",
      "join_eui": "6BF6188C16A33EDC",
      "dev_addr": "260B373F"
    },
    "correlation_ids": [
      "gs:uplink:01JHWAD9JRSAV1F4SPZQ143FK3"
    ],
    "received_at": "2025-01-18T09:02:55.274197028Z",
    "uplink_message": {
      "session_key_id": "AZR08PzYRzOPxmZbZzVX2A==",
      "f_port": 1,
      "f_cnt": 104,
      "frm_payload": "HQ0IAdIoBgFCJ78ogA0hRBY4xQIU",
      "decoded_payload": {
        "ACTIVE_MODE": true,
        "BATTERYVOLTAGE": 3.361,
        "FENCEVOLTAGE": 10246,
        "FENCEVOLTAGEMAX": 10368,
        "FENCEVOLTAGEMIN": 10175,
        "FENCE_VOLTAGE_STD": 32.2,
        "IMPULSES": 466,
        "REMAINING_CAPACITY": 600.8870239257812,
        "TEMPERATURE": 5.32
      },
      "rx_metadata": [
        {
          "gateway_ids": {
            "gateway_id": "piegn-srv3",
            "eui": "E45F01FFFEDECBE3"
          },
          "time": "2025-01-18T09:02:54.979598045Z",
          "timestamp": 987106386,
          "rssi": -89,
          "channel_rssi": -89,
          "snr": 4.25,
          "uplink_token": "ChgKFgoKcGllZ24tc3J2MxII5F8B//7ey+MQ0pjY1gMaCwi/3K28BhDpwNgeINDAgKHdhAg=",
          "received_at": "2025-01-18T09:02:55.022361821Z"
        }
      ],
      "settings": {
        "data_rate": {
          "lora": {
            "bandwidth": 125000,
            "spreading_factor": 7,
            "coding_rate": "4/5"
          }
        },
        "frequency": "867300000",
        "timestamp": 987106386,
        "time": "2025-01-18T09:02:54.979598045Z"
      },
      "received_at": "2025-01-18T09:02:55.066145227Z",
      "consumed_airtime": "0.077056s",
      "network_ids": {
        "net_id": "000013",
        "ns_id": "EC656E0000000181",
        "tenant_id": "ttn",
        "cluster_id": "eu1",
        "cluster_address": "eu1.cloud.thethings.network"
      }
    }
  }`,
    preset: 'ttn',
    template: 'v3/+/devices/{device}/up',
    time: '2025-01-18T09:02:55.066145Z',
    readings: [
      ['piegn/fencyboy-0', 'f_cnt', 104],
      ['piegn/fencyboy-0', 'ACTIVE_MODE', 1],
      ['piegn/fencyboy-0', 'BATTERYVOLTAGE', 3.361],
      ['piegn/fencyboy-0', 'FENCEVOLTAGE', 10246],
      ['piegn/fencyboy-0', 'FENCEVOLTAGEMAX', 10368],
      ['piegn/fencyboy-0', 'FENCEVOLTAGEMIN', 10175],
      ['piegn/fencyboy-0', 'FENCE_VOLTAGE_STD', 32.2],
      ['piegn/fencyboy-0', 'IMPULSES', 466],
      ['piegn/fencyboy-0', 'REMAINING_CAPACITY', 600.8870239257812],
      ['piegn/fencyboy-0', 'TEMPERATURE', 5.32],
      ['piegn/fencyboy-0', 'rssi', -89],
      ['piegn/fencyboy-0', 'snr', 4.25],
    ],
    auto: 'no',
  },
  {
    source: 'TheThingsIndustries/lorawan-stack-docs, doc/content/integrations/data-formats/_index.md',
    topic: 'v3/app1@tenant1/devices/dev1/join',
    payload:
      '{"end_device_ids":{"device_id":"dev1","application_ids":{"application_id":"app1"},"dev_eui":"0004A30B001C0530","join_eui":"800000000000000C","dev_addr":"01497ECC"},"correlation_ids":["as:up:01E191YN5F2HMBQCBCVRF731VY"],"received_at":"2020-02-17T07:49:09.935284891Z","join_accept":{"session_key_id":"AXBSH1Pk6Z0G166RlH16CQ==","received_at":"2020-02-17T07:49:09.736532315Z","attributes":{"key1":"value1","key2":"value2"}}}',
    preset: 'ttn',
    readings: [],
  },
  {
    source: 'TheThingsIndustries/lorawan-stack-docs, doc/content/integrations/data-formats/_index.md',
    topic: 'v3/app1@tenant1/devices/dev1/down/ack',
    payload:
      '{"end_device_ids":{"device_id":"dev1","application_ids":{"application_id":"app1"},"dev_eui":"0004A30B001C0530","join_eui":"800000000000000C","dev_addr":"00C30DFA"},"correlation_ids":["as:downlink:01E19B99501X84X6CV471TVSZ1"],"received_at":"2020-02-17T10:32:24.590413417Z","downlink_ack":{"session_key_id":"AXBSp8v2brG0jqkri+sIkw==","f_port":15,"f_cnt":1,"frm_payload":"vu8=","confirmed":true,"priority":"NORMAL","correlation_ids":["as:downlink:01E19B99501X84X6CV471TVSZ1"]}}',
    preset: 'ttn',
    readings: [],
  },
  {
    source: 'TheThingsNetwork/lorawan-stack, issue 1996 (a join; shortened)',
    topic: 'v3/jpm-crickets@ttn/devices/sodaq-explorer/join',
    payload:
      '{"end_device_ids":{"device_id":"sodaq-explorer","application_ids":{"application_id":"jpm-crickets"}},"received_at":"2020-02-16T07:48:38.272137730Z","join_accept":{"session_key_id":"redacted","received_at":"2020-02-16T07:48:38.083605466Z"}}',
    preset: 'ttn',
    readings: [],
  },
];
