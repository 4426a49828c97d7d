// Generated from services/api/src/openapi.yaml by `npm run client`. Do not edit.

export interface paths {
    "/v1/readings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Readings of one device, or of the devices that match
         * @description Readings in [from, to), newest first unless `order=asc`. Without `metric`, the list has all metrics of the device.
         *     Instead of `device`, any of `site`, `city`, `kind` and `year` select registered devices that match all of them.
         *     The list is then ordered by device first.
         */
        get: operations["listReadings"];
        put?: never;
        /**
         * Deliver readings
         * @description The API forwards the body unchanged to ingest, which decodes it like an MQTT payload. The answer is sent after the
         *     commit. The body is one number or boolean as text, JSON in every shape that MQTT accepts, or a SenML pack.
         *     `device` and `metric` replace the MQTT topic. Leave them out when the body names them. A body that cannot be
         *     decoded is quarantined, and the answer is still 202: check `quarantined`. Then `errors` has the reasons.
         */
        post: operations["deliverReadings"];
        /**
         * Delete readings of a device
         * @description Deletes the readings of one device in [from, to), of all metrics unless `metric` names one. At least one of `from` and
         *     `to` is required. The store deletes in small parts, so that writes continue. After about ten seconds the answer has
         *     `complete: false`, and the same request deletes the next part of the readings. Readings that arrive meanwhile can stay.
         *     Devices below this one keep their readings, and the device stays registered.
         */
        delete: operations["deleteReadings"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/readings/latest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Newest reading of each metric
         * @description The newest reading (by its own time) of each metric of each device: of up to 200 named devices in one answer, or in
         *     pages of all registered devices that match `prefix`, `site`, `city`, `kind` and `year`. Without any of them, of all
         *     registered devices. Ingest registers each device that sends.
         */
        get: operations["latestReadings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/readings/aggregate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Aggregates of one series
         * @description Aggregates of the numeric readings of one series in [from, to), for each bucket of time. Buckets are aligned to the
         *     epoch. Buckets without readings are left out. At most 10,000 buckets fit between `from` and `to`.
         *
         *     Buckets of whole minutes, hours or days are read from rollups where these are exact, and so also after the readings were
         *     deleted. `sources` has the origin of the figures.
         */
        get: operations["aggregateReadings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/readings/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Aggregates of several series
         * @description As `GET /v1/readings/aggregate`, for up to 50 series with the same buckets. The n-th `metric` belongs to the n-th
         *     `device`; a single device or metric belongs to all. At most 10,000 buckets fit between `from` and `to`, and 50,000 of all
         *     series together.
         */
        get: operations["aggregateSeries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/readings/wrong": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Readings that are marked as wrong
         * @description The marked readings of up to 50 series in [from, to), one series after the other, each by time, with the numbers that
         *     they had. The n-th `metric` belongs to the n-th `device`; a single device or metric belongs to all. At most 50,000 readings
         *     are read to find them, and 1,000 are in the answer: with `complete: false` there can be more, in a shorter range.
         */
        get: operations["listWrongReadings"];
        put?: never;
        /**
         * Mark readings as wrong
         * @description Marks the numeric readings of one series in [from, to), or without `to` the one at `from`. With `above` or `below`, only
         *     values above or below it. They stay stored, with the text `{"wrong":<number>}` as their value, so that aggregates,
         *     groups and rollups leave them out. It is a correction: a sensor that sends the same reading again later replaces it. The answer comes after
         *     about ten seconds at the latest; while `next` is not null, send the request again with it as `from`.
         */
        post: operations["markReadings"];
        /**
         * Restore readings that were marked as wrong
         * @description Gives the marked readings of one series in [from, to), or without `to` the one at `from`, their numbers again. Figures
         *     count them again. `next` is as for the mark.
         */
        delete: operations["restoreReadings"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/readings/unit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set the unit of a metric
         * @description Stores the unit of one series that has readings, for sensors that state none. It replaces the one that is known. A sensor that states
         *     another unit later replaces it. Values are not converted.
         */
        put: operations["setUnit"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/readings/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Figures of many devices
         * @description Figures of the numeric readings of many devices in [from, to), grouped by device, UTC day, metric, site, city or kind, or
         *     in one group (`all`). With `bucket`, each group has its figures over time too. Without `prefix`, `site`, `city`, `kind` and
         *     `year`: of all devices that have readings. With `order` and `limit`, the top n.
         *
         *     The figures are exact. Rollups answer whole minutes, hours and days, readings the rest, and `sources` names them. A
         *     query that takes longer than 30 s, or has more than 50,000 groups, or with `bucket` more than
         *     20,000 groups and buckets, is refused. Cassandra and HBase
         *     read sums of all devices by day or metric, for whole days and without `bucket`, from tables that are computed from time
         *     to time: `asOf` is their age. Groups by device of one metric have the unit of that metric, when it is known.
         */
        get: operations["groupReadings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All readings that match, as a file
         * @description Readings in [from, to), by device, metric and time, all ascending. `device` selects devices by name. Otherwise all
         *     registered devices that match `prefix`, `site`, `city`, `kind` and `year` are exported. The answer has no limit of size. It
         *     is sent as fast as the client receives it, compressed when the client accepts gzip.
         *
         *     NDJSON ends with the line `{"complete":true,"rows":n}`, CSV with `trailer=true` with the comment `# complete: n rows`, and
         *     Parquet with its footer. An answer without it is incomplete: the connection broke, or an earlier line has the reason. The
         *     body of an incomplete answer has no end, which clients report. To continue NDJSON and CSV, keep the complete lines, and send the request again with device, metric and time of the last reading as
         *     `afterDevice`, `afterMetric` and `afterTime`. A continued CSV has no line of names.
         */
        get: operations["exportReadings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/annotations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Annotations of devices
         * @description The annotations that concern [from, to), the latest beginning first: those of each device, of the levels above it
         *     (`site-3` for `site-3/boiler`), and of all devices. Without `device`, only those of all devices. A key that is limited to a device
         *     gets those of its devices.
         */
        get: operations["listAnnotations"];
        put?: never;
        /**
         * Annotate a time or a span
         * @description Stores a text about a device, or about all, at the time `from` or for the span [from, to). It is a reading of the metric
         *     `annotation`, so every store, export, copy and backup has it, and retention deletes it as other readings. An equal
         *     annotation is stored once, so the request can be repeated. Another one at the same time begins a microsecond later.
         */
        post: operations["createAnnotation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/annotations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `id` of the annotation.
                 * @example MTc5NTI2OTkwODAwMDAwMCBzaXRlLTMvYm9pbGVy
                 */
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Correct an annotation
         * @description Replaces its text and its end. Without `to` it concerns its beginning only. The beginning and the device stay.
         */
        put: operations["updateAnnotation"];
        post?: never;
        /**
         * Delete an annotation
         * @description Deletes it from the store.
         */
        delete: operations["deleteAnnotation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Devices
         * @description Devices by name, ascending. A device must match all filters.
         */
        get: operations["listDevices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change every device that matches
         * @description Changes the given fields of every device that matches all filters.
         */
        patch: operations["updateDevices"];
        trace?: never;
    };
    "/v1/devices/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The device, a path of 1 to 8 segments. Slashes can be written as `/` or as `%2F`:
                 *     `/v1/devices/site-3/boiler/probe-7`.
                 * @example site-3/boiler/probe-7
                 */
                name: components["schemas"]["DeviceName"];
            };
            cookie?: never;
        };
        /**
         * One device
         * @description The device with this name, and the units of its metrics.
         */
        get: operations["getDevice"];
        /**
         * Create or replace a device
         * @description Fields that are left out become null. Attributes that are left out become empty.
         */
        put: operations["putDevice"];
        post?: never;
        /**
         * Delete a device
         * @description The readings of the device stay. The device is registered again with its next reading.
         */
        delete: operations["deleteDevice"];
        options?: never;
        head?: never;
        /**
         * Change a device
         * @description Fields that are left out keep their values. Null clears a field. `attributes` is replaced as a whole.
         */
        patch: operations["updateDevice"];
        trace?: never;
    };
    "/v1/records/{table}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
            };
            cookie?: never;
        };
        /**
         * Scan records
         * @description Up to `count` records, beginning with `start` (YCSB's scan). The order is that of the keys, except in Cassandra, which
         *     orders by token.
         */
        get: operations["scanRecords"];
        /**
         * Create a table
         * @description Creates a table in the layout of YCSB's binding for the store. An existing table is not changed.
         */
        put: operations["createRecordTable"];
        /**
         * Insert many records
         * @description Loads records, faster than one request for each. After the answer 204, all keys exist. A key that existed keeps its
         *     record, except in stores whose insert is an upsert (`insertIsUpsert`: Cassandra, HBase). They replace the given
         *     fields. After an error, some of the records can be stored: send the same request again.
         */
        post: operations["insertRecords"];
        /**
         * Drop a table
         * @description Drops a table with all its records. It is no error when there is no such table. A table that Tidegauge did not create
         *     is refused: drop it with the tools of the database.
         */
        delete: operations["dropRecordTable"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/records/{table}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
                /**
                 * @description Any text without U+0000. Escape the characters that have a meaning in a URL.
                 * @example user6284781860667377211
                 */
                key: string;
            };
            cookie?: never;
        };
        /**
         * One record
         * @description All fields of the record, or the requested ones (YCSB's read).
         */
        get: operations["readRecord"];
        /**
         * Insert a record
         * @description YCSB's insert. An existing key is a conflict, except in stores whose insert is an upsert (`insertIsUpsert`:
         *     Cassandra, HBase). They replace the given fields.
         */
        put: operations["insertRecord"];
        post?: never;
        /**
         * Delete a record
         * @description YCSB's delete. A store that does not read before it deletes answers 204 for a missing record too.
         */
        delete: operations["deleteRecord"];
        options?: never;
        head?: never;
        /**
         * Change fields of a record
         * @description YCSB's update. Fields that are left out keep their values. A missing record is an error, except in stores whose
         *     update is an upsert (`updateIsUpsert`). They create it.
         */
        patch: operations["updateRecord"];
        trace?: never;
    };
    "/v1/ledger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Account of all readings
         * @description Sums over all ingest processes: received = stored + duplicate + filtered + quarantined + spooled + inFlight. An instance that
         *     does not answer is in `unreachable` and not in the sums.
         */
        get: operations["getLedger"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ledger/missing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Missing readings that a sender can send again
         * @description The missing sequence numbers of each device and boot, without those that the sensor declared gone. A sender that kept these
         *     readings sends them again with `POST /v1/readings`. For the others it sends `{"device": "site-3/boiler", "boot": "a1", "kept": 212}`
         *     there: it has no number below `kept`, or none at all with null. docs/nothing-missing.md describes it. With several ingest
         *     processes each receives a part of the numbers, so `isKnown` is false and the list is empty.
         */
        get: operations["listMissing"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Active alerts, and those that ended last
         * @description Active alerts first, then the newest 500 that ended, each the newest first. The rules are in a file of ingest
         *     (docs/alerts.md). Of several ingest processes one evaluates them; `evaluating` is false when none that answers does.
         */
        get: operations["listAlerts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alert rules
         * @description The rules in use, as entries of the file of ingest (docs/alerts.md).
         */
        get: operations["listAlertRules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts/rules/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the entry.
                 * @example boiler-hot
                 */
                name: string;
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Add or replace an alert rule
         * @description Writes the rule to the file of every ingest process and uses it at once. Comments in the file stay. Alerts of a rule that changed end
         *     and begin again. The answer is 409 when ingest cannot write the file.
         */
        put: operations["putAlertRule"];
        post?: never;
        /**
         * Delete an alert rule
         * @description Removes the rule from the file of every ingest process. Its active alerts end with the reason `removed`.
         */
        delete: operations["deleteAlertRule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts/receivers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Receivers of messages about alerts
         * @description The receivers of the first ingest process that answers, without their secrets.
         */
        get: operations["listAlertReceivers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts/receivers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the entry.
                 * @example boiler-hot
                 */
                name: string;
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Add or replace a receiver
         * @description Writes the receiver to the file of every ingest process, which only its user can read, and uses it at once. No answer has its secrets.
         */
        put: operations["putAlertReceiver"];
        post?: never;
        /**
         * Delete a receiver
         * @description Removes the receiver from the file of every ingest process, with the messages that it has not accepted.
         */
        delete: operations["deleteAlertReceiver"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts/receivers/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the entry.
                 * @example boiler-hot
                 */
                name: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test message to a receiver
         * @description Sends one message now. The answer is 502 with the reason when the receiver does not accept it.
         */
        post: operations["testAlertReceiver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/quarantine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Messages in quarantine
         * @description Messages without their payload. Long topics and details are shortened; request one item to get all of it. A page is
         *     bounded in bytes too: when there are more items, `next` is set, even when the page has fewer than `limit`.
         */
        get: operations["listQuarantine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/quarantine/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay many messages
         * @description Decodes and stores the messages that the filter matches again, the oldest first: up to `limit`, and fewer when that
         *     takes more than a few seconds. While `next` is not null, send the same request with it as `cursor`. Messages that
         *     arrive in the meantime are not replayed. A message that fails again stays in quarantine and is not tried twice.
         */
        post: operations["replayQuarantine"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/quarantine/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Discard many messages
         * @description Deletes the messages that the filter matches, the oldest first: up to `limit`. This cannot be undone. While `next` is
         *     not null, send the same request with it as `cursor`. Messages that arrive in the meantime are not deleted. Discarded
         *     messages stay counted as quarantined in the ledger.
         */
        post: operations["discardQuarantine"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/quarantine/causes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Quarantine by cause
         * @description Groups the newest 10,000 messages of each ingest process by reason, by the route that takes their topics or the
         *     pattern of topics that no route takes, and by the setting that would fix them. At most 200 groups, the most frequent
         *     first.
         */
        get: operations["listQuarantineCauses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/quarantine/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `<instance>.<number>`, as in the list.
                 * @example ingest-1.17
                 */
                id: string;
            };
            cookie?: never;
        };
        /**
         * One message with its payload
         * @description The payload is base64.
         */
        get: operations["getQuarantineItem"];
        put?: never;
        post?: never;
        /**
         * Discard a message
         * @description Deletes the message. This cannot be undone. It stays counted as quarantined in the ledger.
         */
        delete: operations["discardQuarantineItem"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/quarantine/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `<instance>.<number>`, as in the list.
                 * @example ingest-1.17
                 */
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay a message
         * @description Decodes and stores the message as if it arrived now, for example after a route was corrected. On success it leaves
         *     quarantine. When it fails again, it stays and `quarantined` is 1.
         */
        post: operations["replayQuarantineItem"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Explain a message
         * @description What becomes of a message with this topic and payload: its route, its device and metric, and the readings as the store
         *     would hold them, with units and ignored fields; or the reason why it would go to quarantine, and the setting that
         *     changes that. Nothing is stored or counted. With `format` or `route`, it is read as if the routes file had that.
         *     Formats whose messages depend on each other are read as after a restart, without earlier messages.
         *     The body has at most 256 KiB and 10,000 values of JSON. One client has two explanations at a time.
         */
        post: operations["explain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/routes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a route
         * @description Adds an entry at the end of the routes file of every ingest process, after it was checked, and uses it at once. The
         *     first route that matches a topic counts, so it reads topics that no other route takes. An equal entry is added once. The answer is
         *     409 when ingest cannot write the file. Ingest creates a missing file, with its default route before the added
         *     one.
         */
        post: operations["addRoute"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream of readings
         * @description Server-sent events. `readings` is `{"readings":[...]}`: readings that were just committed. `gap` is `{"missed":n}`: the
         *     number of readings, of all sensors, that this client did not receive because it was too slow or disconnected for too
         *     long. It is null when the number is unknown. Every event has an id. A client that reconnects with `Last-Event-ID`
         *     continues after that event, or receives a gap. A comment every 15 s keeps the connection open.
         */
        get: operations["live"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Keys of the API
         * @description All keys of the file `API_KEYS`, the newest first, without their texts. The answer is 409 when there is no such file.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Make a key
         * @description Makes a key, which is valid at once. Only this answer has its text. The first key of an installation without a login must have the
         *     scope `admin`, because changes need a login from then on. The answer is 409 when the key cannot be added to the file.
         */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The second part of the text of the key.
                 * @example 3f9c0a7b21
                 */
                id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a key
         * @description Services refuse the key within a second or two, and end its live streams within 15 seconds. It stays in the list. It cannot be made valid again.
         */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/passwords": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Logins of sensors
         * @description The names with which sensors log in at ingest (`LISTEN_PASSWORDS`), at most 1,000. The answer is 409 when ingest has no file of passwords, for
         *     example because sensors log in at a broker.
         */
        get: operations["listPasswords"];
        put?: never;
        /**
         * Make a password of a sensor
         * @description Adds a login with a random password to the file of every ingest process, which uses it within a second or two. Only this answer has the
         *     password. The answer is 409 when there is such a login and `replace` is not true, and when the file cannot be changed. A replaced
         *     password ends the connections of its sensors.
         */
        post: operations["setPassword"];
        /**
         * Remove the login of a sensor
         * @description Removes the login from the file of every ingest process, which ends the connections of its sensors within a second or two.
         */
        delete: operations["removePassword"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How long readings are kept
         * @description The rules in use, of the first ingest process that answers, and the last run that deleted readings.
         */
        get: operations["getRetention"];
        /**
         * Replace the rules of retention
         * @description Writes the rules to the file of every ingest process, without its comments. The next run deletes what they do not keep, after half a minute
         *     to `everySeconds`. Send the rules that were read as `before`: the answer is 409 when they have changed since, and when ingest cannot write the file.
         */
        put: operations["setRetention"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What rules of retention would delete
         * @description Counts the readings that the rules would delete now, by rule, and deletes nothing. After five seconds it ends with
         *     `isComplete: false`, and there can be more readings. Limits of space are not part of it.
         */
        post: operations["previewRetention"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/backups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Backups of the store
         * @description The backups in the directory of the backup service (`BACKUP`), the newest first, at most 100, and when a restore of each was verified. The answer
         *     is 409 without such a service.
         */
        get: operations["listBackups"];
        put?: never;
        /**
         * Make a backup now
         * @description The backup service begins at once. The answer is 409 while a backup is made. The list shows when it is complete.
         */
        post: operations["requestBackup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who changed what
         * @description The last changes by senders with a login, the newest first: at most 1,000, since the start of this API. The log has all
         *     of them. Changes of readings and records by one sender, and equal refusals, within ten seconds are counted in one
         *     entry.
         */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the sender may do
         * @description For the live page. Without a login `scopes` are those of everybody, which can be none.
         */
        get: operations["getSession"];
        put?: never;
        /**
         * Sign in
         * @description Exchanges the key of the request for a cookie that no script can read. Send `csrf` as `X-CSRF-Token` with each change.
         *     The session ends with its key, after SESSION_LIFETIME, and when the API restarts. Where no login is needed there is
         *     no cookie.
         */
        post: operations["beginSession"];
        /**
         * Sign out
         * @description Ends the session of the cookie, if there is one.
         */
        delete: operations["endSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The version of OpenTSDB whose requests these are
         * @description Clients read it to select their functions.
         */
        get: operations["tsdbVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/aggregators": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Aggregators
         * @description The names of the functions that combine series and downsample.
         */
        get: operations["tsdbAggregators"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config/filters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Types of filters
         * @description The types of filters of tag values.
         */
        get: operations["tsdbFilters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/suggest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Names that begin with a text
         * @description Names of metrics, keys of tags, or values of tags, sorted. Names of new metrics appear within a minute. With very many
         *     devices some names can be missing.
         */
        get: operations["tsdbSuggest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/search/lookup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Series
         * @description The series of a metric whose tags match, by device.
         */
        get: operations["tsdbLookUp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Points of series
         * @description As the POST request, with the query in the URL.
         */
        get: operations["tsdbQuery"];
        put?: never;
        /**
         * Points of series
         * @description Reads the series that match, downsamples them, and combines those of each group. A query reads at most 2,000 series, and
         *     has at most 524,288 points in memory. It takes at most 30 s. A larger query gets 413. Fields that are not described
         *     have no effect.
         */
        post: operations["tsdbPostQuery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alive
         * @description Answers while the process can answer requests. Restart the process when this fails.
         */
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ready
         * @description The store would answer now; send requests elsewhere when this fails.
         */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prometheus metrics
         * @description Text format 0.0.4.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description An error in the form of OpenTSDB. */
        TsdbError: {
            error: {
                /** Format: int32 */
                code: number;
                message: string;
                details: string;
            };
        };
        TsdbNames: string[];
        /** @description Values of tags by their keys. */
        TsdbTags: {
            [key: string]: string;
        };
        TsdbLookup: {
            /** @constant */
            type: "LOOKUP";
            metric: string;
            tags: {
                key: string;
                value: string;
            }[];
            /** Format: int32 */
            limit: number;
            /**
             * Format: int32
             * @description Milliseconds.
             */
            time: number;
            results: {
                tsuid: string;
                metric: string;
                tags: components["schemas"]["TsdbTags"];
            }[];
            /** Format: int32 */
            startIndex: number;
            /** Format: int32 */
            totalResults: number;
        };
        TsdbQuery: {
            /**
             * Format: int64
             * @description Seconds or milliseconds since 1970, 1h-ago, or 2026/11/21-14:05:08 in UTC.
             */
            start: number | string | null;
            /**
             * Format: int64
             * @description Seconds or milliseconds since 1970, 1h-ago, or 2026/11/21-14:05:08 in UTC.
             */
            end?: number | string | null;
            queries: components["schemas"]["TsdbSubQuery"][];
            /** @description Times of the answer are milliseconds instead of seconds. */
            msResolution?: boolean | null;
            /** @description Each result has its query. */
            showQuery?: boolean | null;
            /** @description Must not be true. */
            useCalendar?: boolean | null;
            /** @description UTC only. */
            timezone?: string | null;
        };
        TsdbSubQuery: {
            aggregator: string;
            metric: string;
            /** @description Interval, function and possibly fill policy: 1m-avg-zero. */
            downsample?: string | null;
            /** @description Changes per second instead of values. */
            rate?: boolean | null;
            rateOptions?: {
                counter?: boolean;
                counterMax?: number;
                resetValue?: number;
                dropResets?: boolean;
            } | null;
            /** @description Filters that group, by key: a value, values with | between them, *, or type(filter). */
            tags?: {
                [key: string]: string;
            } | null;
            filters?: components["schemas"]["TsdbFilter"][] | null;
            /** @description Only series that have no other tags than those of the filters. */
            explicitTags?: boolean | null;
        };
        TsdbFilter: {
            /** @description One of /api/config/filters. */
            type: string;
            /** @description device, prefix, site, city, kind or year. */
            tagk: string;
            filter: string;
            groupBy?: boolean | null;
            group_by?: boolean | null;
        };
        TsdbResults: {
            metric: string;
            tags: components["schemas"]["TsdbTags"];
            /** @description Keys of tags whose values differ between the series that were combined. */
            aggregateTags: string[];
            /** @description The query, with `showQuery`. `index` is its place. */
            query?: Record<string, never>;
            /** @description Of a query for the metric `annotation`, which has no values. */
            annotations?: {
                tsuid: string;
                /** @description The device unless it concerns all devices, and the text. */
                description: string;
                notes: string;
                custom: null;
                /**
                 * Format: int64
                 * @description Seconds.
                 */
                startTime: number;
                /**
                 * Format: int64
                 * @description Seconds; 0 without an end.
                 */
                endTime: number;
            }[];
            /** @description Values by time. With `arrays`, pairs of time and value. */
            dps: {
                [key: string]: components["schemas"]["TsdbValue"];
            } | components["schemas"]["TsdbValue"][][];
        }[];
        /** @description A number. For an interval without values, null or NaN as the fill policy defines. */
        TsdbValue: number | string | null;
        /** @description A path of 1 to 8 segments, each of letters, digits and _ . : @ ~ -, and not of dots alone. */
        DeviceName: string;
        /** @description One word of letters, digits and _ . : @ ~ -, and not of dots alone. */
        MetricName: string;
        /** @description A time from 1970 to 2254, such as 2026-11-01T00:00:00Z, or a number since 1970 (a + is sent as %2B). */
        Instant: string;
        /** @description A text without U+0000. */
        Filter: string;
        /** @description Cursor of the next page; null on the last. */
        Next: string | null;
        /**
         * Format: date-time
         * @description ISO 8601 in UTC with microseconds.
         */
        Time: string;
        /**
         * @description One value, one reading, several metrics of one moment, or an array of readings. Any other JSON is accepted too: it is
         *     quarantined and counted in `quarantined`.
         */
        DeliveredReadings: components["schemas"]["DeliveredReading"] | components["schemas"]["DeliveredMetrics"] | components["schemas"]["DeliveredReading"][] | (number | boolean | string) | unknown;
        /** @description One reading. A time, a boot and a sequence number are optional. */
        DeliveredReading: {
            /** @description The device. It can be in the query instead. */
            device?: string;
            /** @description The metric. It can be in the query instead. */
            metric?: string;
            /**
             * @description The time of the measurement (also `time`, `ts` or `timestamp`), as ISO 8601 or a number. Without it, the time of
             *     receipt.
             */
            t?: string | number;
            /** @description The value (also `value`). */
            v: number | boolean | string;
            /** @description One power cycle of the sensor. */
            boot?: string;
            /**
             * Format: int64
             * @description Counts the readings of one boot: 0, 1, 2 and so on.
             */
            seq?: number;
        };
        /** @description Several metrics of one moment. Every field that is not named here is a metric. */
        DeliveredMetrics: {
            device?: string;
            t?: string | number;
            boot?: string;
            /** Format: int64 */
            seq?: number;
        } & {
            [key: string]: number | boolean | string;
        };
        /** @description A SenML pack (RFC 8428). Anything else is quarantined. */
        SenmlPack: {
            /** @description Base name. It is put before every following name. */
            bn?: string;
            /** @description Base time, seconds. */
            bt?: number;
            /** @description Base unit. */
            bu?: string;
            /** @description Name: a device and a metric, separated by the last `:` or `/`. */
            n?: string;
            /** @description Unit. */
            u?: string;
            /** @description Time, seconds. Below 2^28 it is relative to now. */
            t?: number;
            /** @description A number. */
            v?: number;
            /** @description A boolean. */
            vb?: boolean;
            /** @description A text. */
            vs?: string;
            /** @description A sum. */
            s?: number;
        }[] | unknown;
        Reading: {
            device: string;
            metric: string;
            time: components["schemas"]["Time"];
            value: number | string;
            received: components["schemas"]["Time"];
            /**
             * @description Whether the clock of the sensor can be trusted.
             * @enum {string}
             */
            quality: "ok" | "skewed" | "unsynced";
            /** @description One power cycle of the sensor. */
            boot?: string;
            /**
             * Format: int64
             * @description Counts the readings of one boot.
             */
            seq?: number;
            unit?: components["schemas"]["Unit"];
        };
        /**
         * @description The unit of the series, as its sensor or route stated it last: a name of the SenML registry such as `Cel`, or another
         *     text. It is left out if it is not known. Live events do not have it.
         */
        Unit: string;
        /** @description A text of 1 to 2,000 characters. */
        AnnotationText: string;
        Annotation: {
            /** @description Names it in the path of a change. */
            id: string;
            /** @description null: it concerns all devices. */
            device: null | string;
            from: components["schemas"]["Time"];
            /**
             * Format: date-time
             * @description The end of its span. null: it concerns the time `from`.
             */
            to: null | string;
            text: string;
            /** @description The login of who wrote it last. null if there was none. */
            by: null | string;
        };
        ReadingPage: {
            readings: components["schemas"]["Reading"][];
            next: components["schemas"]["Next"];
        };
        Bucket: {
            time: components["schemas"]["Time"];
            /** Format: int64 */
            count: number;
            min?: number;
            max?: number;
            mean?: number;
            sum?: number;
            /** @description The value of the earliest reading. */
            first?: number;
            firstTime?: components["schemas"]["Time"];
            /** @description The value of the latest reading. */
            last?: number;
            lastTime?: components["schemas"]["Time"];
        };
        /** @description A whole number with ms, s, m, h or d, such as 5m. */
        Length: string;
        /** @description Where the figures come from. `raw`: the readings. Others: rollups of that period. */
        Sources: ("raw" | "minute" | "hour" | "day")[];
        /**
         * Format: date-time
         * @description Readings before this time were needed and can be deleted, so figures can be missing. null: the answer is complete. To get an answer from rollups, let `from` and `to` be whole buckets.
         */
        IncompleteBefore: null | string;
        Group: {
            /** @description A device, a metric, a UTC day such as 2026-11-21, a site, city or kind (empty for devices without it), or `all`. */
            key: string;
            /** Format: int64 */
            count: number;
            min: number;
            max: number;
            /** @description null if the sum is. */
            mean: number | null;
            /** @description null beyond the largest double. */
            sum: number | null;
            unit?: components["schemas"]["Unit"];
            /** @description With `bucket`, by time. */
            buckets?: components["schemas"]["GroupBucket"][];
        };
        GroupBucket: {
            time: components["schemas"]["Time"];
            /** Format: int64 */
            count: number;
            min: number;
            max: number;
            /** @description null if the sum is. */
            mean: number | null;
            /** @description null beyond the largest double. */
            sum: number | null;
        };
        Delivery: {
            /** Format: int64 */
            received: number;
            /** Format: int64 */
            stored: number;
            /** Format: int64 */
            duplicate: number;
            /** Format: int64 */
            quarantined: number;
            /** @description Why readings are in quarantine. It has the first reasons, and is absent when there are none. */
            errors?: {
                reason: string;
                detail: string;
                /** @description The place in the payload. */
                position: string | null;
            }[];
        };
        DeviceFields: {
            /** @description A text without U+0000. */
            site?: string | null;
            /** @description A text without U+0000. */
            city?: string | null;
            /** @description A text without U+0000. */
            kind?: string | null;
            /** Format: int32 */
            year?: number | null;
            /** @description At most 16,384 characters as JSON. */
            attributes?: {
                [key: string]: string | number | boolean | null;
            };
        };
        Device: {
            name: string;
            site: string | null;
            city: string | null;
            kind: string | null;
            /** Format: int32 */
            year: number | null;
            attributes: {
                [key: string]: string | number | boolean | null;
            };
        };
        DeviceWithUnits: {
            name: string;
            site: string | null;
            city: string | null;
            kind: string | null;
            /** Format: int32 */
            year: number | null;
            attributes: {
                [key: string]: string | number | boolean | null;
            };
            /** @description The units of its metrics, by metric. Metrics without a known unit are left out. */
            units: {
                [key: string]: components["schemas"]["Unit"];
            };
        };
        /** @description The fields field0, field1 and so on. Each value is a text. */
        RecordFields: {
            [key: string]: string;
        };
        Record: {
            key: string;
            fields: components["schemas"]["RecordFields"];
        };
        Counts: {
            /** Format: int64 */
            received: number;
            /** Format: int64 */
            stored: number;
            /** Format: int64 */
            duplicate: number;
            /**
             * Format: int64
             * @description Left out by the filter of their route.
             */
            filtered: number;
            /** Format: int64 */
            quarantined: number;
            /** Format: int64 */
            spooled: number;
            /** Format: int64 */
            inFlight: number;
        };
        /**
         * @description Why readings cannot be stored now, such as a full disk; null when they can. Readings wait in the spool, in memory or at
         *     the broker. With several instances it is that of the first one. Ingest of an earlier version has none.
         */
        LedgerTrouble: string | null;
        /**
         * Format: int64
         * @description Bytes that ingest has written to disks since `since`: an embedded store, the spool and the quarantine. It excludes
         *     what a database server writes. null where the kernel does not count them.
         */
        WrittenBytes: number | null;
        /**
         * Format: int64
         * @description Readings that retention deleted since the start, as far as the store counts them. They stay in `stored`.
         */
        DeletedCount: number;
        Stage: {
            /**
             * Format: int64
             * @description Readings that passed the stage in the last `stageSeconds`.
             */
            count: number;
            /** @description Seconds. With several instances it is the slowest. */
            p50: number | null;
            /** @description Seconds. With several instances it is the slowest. */
            p99: number | null;
        };
        /**
         * Format: date-time
         * @description The start of the ingest process. Counts begin then; `inFlight` and `spooled` are current values. With several
         *     instances it is the last start, and the counts of the other instances begin earlier.
         */
        Since: string;
        /**
         * Format: date-time
         * @description When the ledger of sequence numbers began. It survives a restart of ingest. With several instances it is the last
         *     beginning. Ingest of an earlier version has none.
         */
        LedgerSince: string;
        /** @description The time that `stages` covers. It is 60 seconds, or less soon after the start. */
        StageSeconds: number;
        Stages: {
            travel: components["schemas"]["Stage"];
            queue: components["schemas"]["Stage"];
            store: components["schemas"]["Stage"];
            ack: components["schemas"]["Stage"];
            end_to_end: components["schemas"]["Stage"];
        };
        Messages: {
            /** Format: int64 */
            received: number;
            /** Format: int64 */
            retainedSkipped: number;
        };
        Mqtt: {
            /** @description True when every instance is connected. */
            connected: boolean;
            /** Format: int64 */
            reconnects: number;
            /** @description Where sensors publish. An ingest process of an earlier version has none. */
            addresses?: {
                /** Format: int32 */
                port: number;
                tls: boolean;
                /** @description Only programs on the machine of ingest reach it. */
                local: boolean;
                /**
                 * @description `one`: a user for all topics. `own`: each sensor has its own user.
                 * @enum {string}
                 */
                login: "none" | "one" | "own";
            }[];
        };
        /**
         * @description Sequence numbers that are missing, of devices that send `boot` and `seq`. When instances share a subscription, one
         *     instance can list numbers as missing that another instance received. Memory is bounded: `givenUp` and `unjudged`
         *     count what is no longer tracked.
         */
        Gaps: {
            since?: components["schemas"]["LedgerSince"];
            /**
             * Format: int64
             * @description Devices that are tracked.
             */
            devices: number;
            /**
             * Format: int64
             * @description Exact for all tracked devices.
             */
            missing: number;
            /**
             * Format: int64
             * @description Exact for all tracked devices.
             */
            duplicates: number;
            /**
             * Format: int64
             * @description Numbers that were missing when their details were dropped. Some may have arrived since.
             */
            givenUp: number;
            /**
             * Format: int64
             * @description Readings that were stored but not compared with others.
             */
            unjudged: number;
            /**
             * Format: int64
             * @description Numbers that were missing and arrived later. Ingest of an earlier version has none.
             */
            healed?: number;
            /**
             * Format: int64
             * @description How many of `missing` their sensors declared gone. Ingest of an earlier version has none.
             */
            gone?: number;
            list: {
                device: string;
                boot: string;
                /** Format: int64 */
                highest: number;
                /** Format: int64 */
                missing: number;
                /** @description Inclusive ranges of missing sequence numbers, the highest of them. */
                ranges: number[][];
                /**
                 * Format: int64
                 * @description Missing numbers below the tracked range. They are not in `missing`.
                 */
                givenUp: number;
                /** Format: int64 */
                duplicates: number;
                /**
                 * Format: int64
                 * @description How many of `missing` the sensor declared gone. Absent: none.
                 */
                gone?: number;
            }[];
            /** @description True when the list was cut or details were dropped. */
            truncated: boolean;
        };
        /** @description The account of one ingest process. */
        InstanceLedger: {
            instance: string;
            since: components["schemas"]["Since"];
            backend: string;
            readings: components["schemas"]["Counts"];
            balanced: boolean;
            trouble?: components["schemas"]["LedgerTrouble"];
            messages: components["schemas"]["Messages"];
            mqtt: components["schemas"]["Mqtt"];
            oldestUnstoredSeconds: number;
            stageSeconds: components["schemas"]["StageSeconds"];
            stages: components["schemas"]["Stages"];
            deleted?: components["schemas"]["DeletedCount"];
            writtenBytes?: components["schemas"]["WrittenBytes"];
            gaps: components["schemas"]["Gaps"];
        };
        /** @description Ingest processes that did not answer, and why. */
        Unreachable: {
            instance: string;
            reason: string;
        }[];
        Ledger: {
            since: components["schemas"]["Since"];
            readings: components["schemas"]["Counts"];
            /** @description True when the account of every instance that answered is balanced. */
            balanced: boolean;
            trouble: components["schemas"]["LedgerTrouble"];
            messages: components["schemas"]["Messages"];
            mqtt: components["schemas"]["Mqtt"];
            oldestUnstoredSeconds: number;
            stageSeconds: components["schemas"]["StageSeconds"];
            stages: components["schemas"]["Stages"];
            deleted: components["schemas"]["DeletedCount"];
            writtenBytes: components["schemas"]["WrittenBytes"];
            gaps: components["schemas"]["Gaps"];
            instances: components["schemas"]["InstanceLedger"][];
            unreachable: components["schemas"]["Unreachable"];
        };
        Alert: {
            /** @description The same when the alert is sent again. */
            id: string;
            /** @description The name of the rule. */
            rule: string;
            /** @enum {string} */
            severity: "info" | "warning" | "critical";
            /** @enum {string} */
            state: "active" | "ended";
            /**
             * @description The limit that was violated, or `quiet` without readings.
             * @enum {string}
             */
            kind: "above" | "below" | "quiet";
            device: string;
            /** @description Null for a quiet device as a whole. */
            metric: string | null;
            /** @description The limit of the rule; seconds for `quiet`. */
            limit: number;
            /** @description The value that raised the alert; null for `quiet`. */
            value: number | null;
            /** @description The time of the first reading that violated the rule; for `quiet` of the last reading, null without one. */
            since: components["schemas"]["Time"] | null;
            raised: components["schemas"]["Time"];
            /** @description When it ended. */
            ended: components["schemas"]["Time"] | null;
            /**
             * @description Why it ended: `removed` with its rule or its device.
             * @enum {string|null}
             */
            reason: "cleared" | "removed" | null;
        };
        AlertRule: {
            name: string;
            /** @description This device and the devices below it. Without it all devices. */
            device?: string;
            metric?: string;
            above?: number;
            below?: number;
            clear?: components["schemas"]["AlertClear"];
            for?: string;
            quiet?: string;
            /** @enum {string} */
            severity: "info" | "warning" | "critical";
        };
        /** @description What each ingest process did. */
        EntryChanges: {
            instance: string;
            /** @description Whether there was an entry of this name before. */
            replaced: boolean;
        }[];
        /** @description An entry of a file of alert rules, as in docs/alerts.md, without its name. */
        AlertRuleFields: {
            device?: components["schemas"]["DeviceName"];
            metric?: components["schemas"]["MetricName"];
            above?: number;
            below?: number;
            clear?: components["schemas"]["AlertClear"];
            /** @description A duration such as `90s`, `5m`, `2h` or `7d`. */
            for?: string;
            /** @description A duration such as `90s`, `5m`, `2h` or `7d`. */
            quiet?: string;
            /** @enum {string} */
            severity?: "info" | "warning" | "critical";
        };
        /** @description The value at which the alert ends. With `above` and `below`, one for each. */
        AlertClear: number | {
            above?: number;
            below?: number;
        };
        AlertReceiver: {
            name: string;
            kind: string;
            /** @description Where it is, without secrets. */
            target: string;
            /** @description False for a receiver that is a setting of ingest, which is not changed here. */
            isEntry: boolean;
            /**
             * Format: int64
             * @description Messages since ingest started.
             */
            sent: number;
            /**
             * Format: int64
             * @description Messages since ingest started.
             */
            failed: number;
            /**
             * Format: int64
             * @description Messages since ingest started.
             */
            dropped: number;
            /**
             * Format: int32
             * @description Messages that it has not accepted yet.
             */
            waiting: number;
        };
        /** @description A receiver, as in docs/alerts.md, without its name. Which texts it needs depends on its kind. */
        AlertReceiverFields: {
            /** @enum {string} */
            kind: "ntfy" | "telegram" | "matrix" | "slack" | "email" | "webhook";
            /** @description A text without U+0000. */
            url?: string;
            /** @description A text without U+0000. */
            token?: string;
            /** @description A text without U+0000. */
            chat?: string;
            /** @description A text without U+0000. */
            room?: string;
            /** @description A text without U+0000. */
            secret?: string;
            /** @description A text without U+0000. */
            to?: string;
            /** @description A text without U+0000. */
            from?: string;
            /** @description A text without U+0000. */
            server?: string;
            /** @description A text without U+0000. */
            user?: string;
            /** @description A text without U+0000. */
            password?: string;
        };
        QuarantineItem: {
            id: string;
            received: components["schemas"]["Time"];
            /**
             * @description How the message was received.
             * @enum {string}
             */
            source: "mqtt" | "http";
            /** @description The MQTT topic. For http it is the request line. */
            topic: string;
            reason: string;
            detail: string;
            position: string | null;
            /**
             * Format: int64
             * @description Bytes of payload.
             */
            size: number;
            /**
             * Format: int64
             * @description Number of readings in the ledger for this message.
             */
            readings: number;
            /** @description True when topic or detail is cut to 500 characters. Only lists do that. */
            shortened?: boolean;
            /** @description Only in the answer for one item. */
            payload?: string;
        };
        /**
         * @description An entry of a routes file, as in docs/configuration.md: `topic` or `preset`, and optionally `name`, `format`, `base`,
         *     `mapping`, `influx`, `qos`, `retained`, `ack`, `filter` and `zone`.
         */
        RouteEntry: Record<string, never>;
        Cause: {
            reason: string;
            /** @description The route that takes the topics; null when none does, and for HTTP. */
            route: string | null;
            /** @description The topic template of the route, the pattern of the topics, or the request. */
            topic: string;
            /**
             * Format: int64
             * @description Messages.
             */
            count: number;
            /** @description The newest message. Topic and detail have at most 500 characters. */
            last: {
                id: string;
                topic: string;
                detail: string;
                received: components["schemas"]["Time"];
            };
            /** @description The setting that makes such messages readable; null when their sender must change. */
            fix: string | null;
            proposals: components["schemas"]["Proposals"];
        };
        /** @description Entries of a routes file that take the topic, when no route does. */
        Proposals: {
            preset?: string;
            topic?: string;
        }[];
        Explanation: {
            topic: string;
            /** @description Null when no route takes the topic. */
            route: {
                name: string;
                /** @description The topic template. */
                topic: string;
                format: string;
                preset?: string;
            } | null;
            /** @description The device of the topic. */
            device: string | null;
            /** @description The metric of the topic. */
            metric: string | null;
            /**
             * Format: int64
             * @description Readings of the message.
             */
            total: number;
            /** @description The rows of the store, with the unit where it is known; at most 1,000. */
            readings: {
                device: string;
                metric: string;
                time: components["schemas"]["Time"];
                value: number | string;
                received: components["schemas"]["Time"];
                /** @enum {string} */
                quality: "ok" | "skewed" | "unsynced";
                boot?: string;
                /** Format: int64 */
                seq?: number;
                /** @description As in the SenML registry. */
                unit?: string;
            }[];
            /** @description Fields without a value, at most 1,000. */
            ignored: {
                field: string;
                reason: string;
            }[];
            /** @description Fields that are used with an assumption, such as the zone of a local time. Absent without any. */
            doubts?: {
                field: string;
                reason: string;
            }[];
            /** @description Why the message would go to quarantine. */
            error?: {
                reason: string;
                message: string;
                position: string | null;
            };
            /** @description The setting that changes that or makes a number of a text in doubt; null when the sender must change. */
            fix?: string | null;
            proposals?: components["schemas"]["Proposals"];
        };
        Key: {
            id: string;
            name: string;
            scopes: ("read" | "write" | "admin")[];
            /** @description The device that it is limited to, with those below it. null: all devices. */
            devices: string | null;
            created: string;
            expires: string | null;
            revoked: string | null;
            /** @enum {string} */
            state: "valid" | "expired" | "revoked";
        };
        /** @description Entries of a file of retention rules, as in docs/retention-and-rollups.md. The first one that matches a series counts. */
        RetentionRules: {
            devices?: components["schemas"]["DeviceName"];
            metrics?: components["schemas"]["MetricName"][];
            /** @description Ages, such as `raw:30d` or `raw:30d,1m:1y`. */
            keep: string;
        }[];
        Retention: {
            rules: components["schemas"]["RetentionRules"];
            /** @description What is kept of series that no rule matches. */
            others: string;
            /** @description Why the rules in use are not those of the file. null: they are. */
            trouble: null | string;
            /**
             * Format: int64
             * @description Largest size of the data, bytes. 0: no limit.
             */
            maxBytes: number;
            /**
             * Format: int64
             * @description Least free space of its disk, bytes. 0: no limit.
             */
            minFreeBytes: number;
            /** @description Time between two runs. */
            everySeconds: number;
            /** @description The last run. null without one since ingest started. */
            last: null | {
                started: components["schemas"]["Time"];
                seconds: number;
                /** @enum {string} */
                result: "done" | "elsewhere" | "failed";
                /**
                 * Format: int64
                 * @description Readings. null: the store did not count all of them.
                 */
                deleted: null | number;
            };
            unreachable: components["schemas"]["Unreachable"];
        };
        AuditEntry: {
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            kind: "token" | "key" | "oidc";
            /** @description The id of the key, the subject of the token, or the name of the setting. */
            sender: string;
            /** @description The address, of IPv6 its first 64 bits. */
            client: string;
            /** @description The operation. */
            action: string;
            /** @description The path with the query, at most 300 characters. */
            resource: string;
            /** @enum {string} */
            outcome: "done" | "refused" | "failed";
            /** Format: int32 */
            status: number;
            /**
             * Format: int64
             * @description Number of changes.
             */
            count: number;
        };
        Session: {
            /** @description The id of the key; null without a login. */
            sender: string | null;
            scopes: ("read" | "write" | "admin")[];
            /** @description The device to which the key is limited, with all devices below it. */
            devices: string | null;
            /**
             * Format: date-time
             * @description The end of the session; null without one.
             */
            expires: string | null;
            /** @description The text for X-CSRF-Token; null without a session. */
            csrf: string | null;
        };
        Health: {
            /** @constant */
            status: "ok";
        };
        /** @description RFC 9457. */
        Problem: {
            type: string;
            title: string;
            /** Format: int32 */
            status: number;
            detail: string;
            instance: string;
            errors?: {
                path: string;
                message: string;
            }[];
        };
    };
    responses: {
        /** @description A parameter or the body is not valid. `errors` has the place and the reason of each mistake. */
        Invalid: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "about:blank",
                 *       "title": "Invalid request",
                 *       "status": 400,
                 *       "detail": "/query/limit: must be <= 10000",
                 *       "instance": "/v1/readings?device=a&limit=20000",
                 *       "errors": [
                 *         {
                 *           "path": "/query/limit",
                 *           "message": "must be <= 10000"
                 *         }
                 *       ]
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is nothing with this name. */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "about:blank",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no device site-3/boiler/probe-9.",
                 *       "instance": "/v1/devices/site-3/boiler/probe-9"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The key is missing, wrong, expired or revoked. */
        NoKey: {
            headers: {
                /** @description Bearer, RFC 6750. */
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "about:blank",
                 *       "title": "Unauthorized",
                 *       "status": 401,
                 *       "detail": "The token or key is wrong.",
                 *       "instance": "/v1/devices"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The key lacks the scope, or is limited to other devices. Or the request is from a page of another site. */
        NotAllowed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "about:blank",
                 *       "title": "Forbidden",
                 *       "status": 403,
                 *       "detail": "This needs a key with the scope write. The scope of this one is read.",
                 *       "instance": "/v1/devices/site-3"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description This client sent too many wrong keys or too many requests. `Retry-After` is the time to wait, in seconds. */
        TooMany: {
            headers: {
                /** @description Seconds. */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "about:blank",
                 *       "title": "Too many failed logins",
                 *       "status": 429,
                 *       "detail": "Too many wrong tokens came from this address: the next one is checked in 6 s.",
                 *       "instance": "/v1/devices"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The table belongs to another program, or the key lacks the scope. */
        NotOurs: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "about:blank",
                 *       "title": "Not a table of Tidegauge",
                 *       "status": 403,
                 *       "detail": "table orders is not a table of records: Tidegauge did not create it, and its layout is not YCSB's. use another name",
                 *       "instance": "/v1/records/orders"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The route has mistakes, or the routes file would have some. The detail has all of them. */
        RouteNotValid: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "about:blank",
                 *       "title": "Routes not valid",
                 *       "status": 422,
                 *       "detail": "The route has mistakes: route: topik: topik is not a key of a route",
                 *       "instance": "/v1/routes"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The store or every ingest process is unavailable, or a limit is reached. `Retry-After` is the time to wait, in seconds. */
        Unavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "about:blank",
                 *       "title": "Store unavailable",
                 *       "status": 503,
                 *       "detail": "The store cannot be reached, or cannot write now.",
                 *       "instance": "/readyz"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A parameter or the body is not valid, in the form of OpenTSDB. A problem document comes from the HTTP server, for headers that are too long. */
        TsdbInvalid: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": 400,
                 *         "message": "No such aggregation function: mean.",
                 *         "details": "Invalid request"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["TsdbError"];
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The key is missing, wrong, expired or revoked. */
        TsdbNoKey: {
            headers: {
                /** @description Bearer, RFC 6750. */
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": 401,
                 *         "message": "The token or key is wrong.",
                 *         "details": "Unauthorized"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["TsdbError"];
            };
        };
        /** @description The key lacks the scope. */
        TsdbNotAllowed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": 403,
                 *         "message": "This needs a key with the scope read. The scope of this one is write.",
                 *         "details": "Forbidden"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["TsdbError"];
            };
        };
        /** @description This client sent too many wrong keys or too many requests. `Retry-After` is the time to wait, in seconds. */
        TsdbTooMany: {
            headers: {
                /** @description Seconds. */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": 429,
                 *         "message": "Too many wrong tokens came from this address.",
                 *         "details": "Too many failed logins"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["TsdbError"];
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Any other failure. 413 means that the query is too large. */
        TsdbFailure: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": 413,
                 *         "message": "The query for temperature selects more than 2000 series.",
                 *         "details": "The query is too large"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["TsdbError"];
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Any other failure. */
        Problem: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "about:blank",
                 *       "title": "Internal error",
                 *       "status": 500,
                 *       "detail": "An unexpected error occurred; the log of this service has the details.",
                 *       "instance": "/v1/readings"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /**
         * @description A path of 1 to 8 segments.
         * @example site-3/boiler/probe-7
         */
        Device: components["schemas"]["DeviceName"];
        /**
         * @description One word. Default: all metrics.
         * @example temperature
         */
        Metric: components["schemas"]["MetricName"];
        /**
         * @description Start, inclusive.
         * @example 2026-11-21T00:00:00Z
         */
        From: components["schemas"]["Instant"];
        /**
         * @description End, exclusive.
         * @example 1795305600
         */
        To: components["schemas"]["Instant"];
        /** @description `next` of the previous page, with the same query. */
        Cursor: string;
        /**
         * @description Year of installation.
         * @example 2019
         */
        Year: number;
        /**
         * @description Exact match.
         * @example Aveiro
         */
        City: components["schemas"]["Filter"];
        /**
         * @description Exact match.
         * @example site-3
         */
        Site: components["schemas"]["Filter"];
        /**
         * @description Exact match.
         * @example thermometer
         */
        Kind: components["schemas"]["Filter"];
        /**
         * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
         * @example usertable
         */
        Table: string;
        /**
         * @description Names of fields, separated by commas. Default: all fields.
         * @example [
         *       "field0",
         *       "field3"
         *     ]
         */
        Fields: string[];
    };
    requestBodies: {
        RecordFields: {
            content: {
                /**
                 * @example {
                 *       "fields": {
                 *         "field0": "21.5 °C",
                 *         "field1": "dry"
                 *       }
                 *     }
                 */
                "application/json": {
                    fields: components["schemas"]["RecordFields"];
                };
            };
        };
        DevicePatch: {
            content: {
                /**
                 * @example {
                 *       "city": "Porto",
                 *       "year": 2020
                 *     }
                 */
                "application/json": components["schemas"]["DeviceFields"];
                /**
                 * @example {
                 *       "city": "Porto",
                 *       "year": 2020
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["DeviceFields"];
            };
        };
    };
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listReadings: {
        parameters: {
            query?: {
                /**
                 * @description A path of 1 to 8 segments. Required without `site`, `city`, `kind` and `year`.
                 * @example site-3/boiler/probe-7
                 */
                device?: components["schemas"]["DeviceName"];
                /**
                 * @description Year of installation.
                 * @example 2019
                 */
                year?: components["parameters"]["Year"];
                /**
                 * @description Exact match.
                 * @example Aveiro
                 */
                city?: components["parameters"]["City"];
                /**
                 * @description Exact match.
                 * @example site-3
                 */
                site?: components["parameters"]["Site"];
                /**
                 * @description Exact match.
                 * @example thermometer
                 */
                kind?: components["parameters"]["Kind"];
                /**
                 * @description One word. Default: all metrics.
                 * @example temperature
                 */
                metric?: components["parameters"]["Metric"];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T00:00:00Z
                 */
                from?: components["parameters"]["From"];
                /**
                 * @description End, exclusive.
                 * @example 1795305600
                 */
                to?: components["parameters"]["To"];
                /** @description Readings per page. */
                limit?: number;
                /** @description By time; `desc` is newest first. */
                order?: "asc" | "desc";
                /** @description `next` of the previous page, with the same query. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of readings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "readings": [
                     *         {
                     *           "device": "site-3/boiler/probe-7",
                     *           "metric": "temperature",
                     *           "time": "2026-11-21T14:05:08.000250Z",
                     *           "value": 64.25,
                     *           "received": "2026-11-21T14:05:08.012731Z",
                     *           "quality": "ok",
                     *           "boot": "5f0c",
                     *           "seq": 1042,
                     *           "unit": "Cel"
                     *         }
                     *       ],
                     *       "next": null
                     *     }
                     */
                    "application/json": components["schemas"]["ReadingPage"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    deliverReadings: {
        parameters: {
            query?: {
                /**
                 * @description The device, when the body does not name it.
                 * @example site-3/boiler/probe-7
                 */
                device?: components["schemas"]["DeviceName"];
                /**
                 * @description One word. Default: all metrics.
                 * @example temperature
                 */
                metric?: components["parameters"]["Metric"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "t": "2026-11-21T14:05:08Z",
                 *       "v": 64.25
                 *     }
                 */
                "application/json": components["schemas"]["DeliveredReadings"];
                /**
                 * @example [
                 *       {
                 *         "bn": "site-3/boiler/probe-7/",
                 *         "n": "temperature",
                 *         "t": 1795269908,
                 *         "v": 64.25
                 *       }
                 *     ]
                 */
                "application/senml+json": components["schemas"]["SenmlPack"];
                /** @example [{0: "site-3/boiler/probe-7/temperature", 2: 64.25}] */
                "application/senml+cbor": unknown;
                /** @example 64.25 */
                "text/plain": unknown;
            };
        };
        responses: {
            /** @description The result: received = stored + duplicate + quarantined. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "received": 1,
                     *       "stored": 1,
                     *       "duplicate": 0,
                     *       "quarantined": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Delivery"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    deleteReadings: {
        parameters: {
            query: {
                /**
                 * @description A path of 1 to 8 segments.
                 * @example site-3/boiler/probe-7
                 */
                device: components["parameters"]["Device"];
                /**
                 * @description One word. Default: all metrics.
                 * @example temperature
                 */
                metric?: components["parameters"]["Metric"];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T00:00:00Z
                 */
                from?: components["parameters"]["From"];
                /**
                 * @description End, exclusive.
                 * @example 1795305600
                 */
                to?: components["parameters"]["To"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The readings, or a part of them, are deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "deleted": 1440,
                     *       "complete": true
                     *     }
                     */
                    "application/json": {
                        /**
                         * Format: int64
                         * @description The number of deleted readings. null if the store does not count them, as Cassandra.
                         */
                        deleted: null | number;
                        /** @description false: there are more readings in the range. Send the request again. */
                        complete: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    latestReadings: {
        parameters: {
            query?: {
                /**
                 * @description Only this device, registered or not. Repeat it for several. It excludes the other filters, `limit` and `cursor`.
                 * @example [
                 *       "site-3/boiler/probe-7",
                 *       "site-3/boiler/probe-8"
                 *     ]
                 */
                device?: components["schemas"]["DeviceName"][];
                /** @description Only this device and all devices below it. */
                prefix?: components["schemas"]["DeviceName"];
                /**
                 * @description Year of installation.
                 * @example 2019
                 */
                year?: components["parameters"]["Year"];
                /**
                 * @description Exact match.
                 * @example Aveiro
                 */
                city?: components["parameters"]["City"];
                /**
                 * @description Exact match.
                 * @example site-3
                 */
                site?: components["parameters"]["Site"];
                /**
                 * @description Exact match.
                 * @example thermometer
                 */
                kind?: components["parameters"]["Kind"];
                /**
                 * @description Only this metric. Repeat it for several.
                 * @example [
                 *       "temperature"
                 *     ]
                 */
                metric?: components["schemas"]["MetricName"][];
                /** @description Readings per page. Default: 1000. */
                limit?: number;
                /** @description `next` of the previous page, with the same query. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description By device, then metric. A device without readings is not in it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "readings": [
                     *         {
                     *           "device": "site-3/boiler/probe-7",
                     *           "metric": "temperature",
                     *           "time": "2026-11-21T14:05:08.000250Z",
                     *           "value": 64.25,
                     *           "received": "2026-11-21T14:05:08.012731Z",
                     *           "quality": "ok",
                     *           "unit": "Cel"
                     *         }
                     *       ],
                     *       "next": null
                     *     }
                     */
                    "application/json": {
                        readings: components["schemas"]["Reading"][];
                        next: components["schemas"]["Next"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    aggregateReadings: {
        parameters: {
            query: {
                /**
                 * @description A path of 1 to 8 segments.
                 * @example site-3/boiler/probe-7
                 */
                device: components["parameters"]["Device"];
                /**
                 * @description One word.
                 * @example temperature
                 */
                metric: components["schemas"]["MetricName"];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T00:00:00Z
                 */
                from: components["schemas"]["Instant"];
                /**
                 * @description End, exclusive. Default: now.
                 * @example 2026-11-22T00:00:00Z
                 */
                to?: components["schemas"]["Instant"];
                /**
                 * @description Length of a bucket, a whole number with ms, s, m, h or d.
                 * @example 5m
                 */
                bucket: components["schemas"]["Length"];
                /**
                 * @description The aggregates in the answer. Default: all but `first` and `last`. `count` is always in the answer. `first` and `last` are the values of the earliest and the latest reading, with `firstTime` and `lastTime`.
                 * @example [
                 *       "mean",
                 *       "max"
                 *     ]
                 */
                fn?: ("count" | "min" | "max" | "mean" | "sum" | "first" | "last")[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Buckets that hold readings, by time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "buckets": [
                     *         {
                     *           "time": "2026-11-21T14:05:00.000000Z",
                     *           "count": 300,
                     *           "mean": 64.1,
                     *           "max": 64.9
                     *         }
                     *       ],
                     *       "sources": [
                     *         "raw"
                     *       ],
                     *       "incompleteBefore": null,
                     *       "unit": "Cel"
                     *     }
                     */
                    "application/json": {
                        buckets: components["schemas"]["Bucket"][];
                        sources: components["schemas"]["Sources"];
                        incompleteBefore: components["schemas"]["IncompleteBefore"];
                        unit?: components["schemas"]["Unit"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    aggregateSeries: {
        parameters: {
            query: {
                /**
                 * @description Repeat it for several series.
                 * @example [
                 *       "site-3/boiler/probe-7",
                 *       "site-3/boiler/probe-8"
                 *     ]
                 */
                device: components["schemas"]["DeviceName"][];
                /**
                 * @description One for each device, or one for all. For one device, its metrics.
                 * @example [
                 *       "temperature"
                 *     ]
                 */
                metric: components["schemas"]["MetricName"][];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T00:00:00Z
                 */
                from: components["schemas"]["Instant"];
                /**
                 * @description End, exclusive. Default: now.
                 * @example 2026-11-22T00:00:00Z
                 */
                to?: components["schemas"]["Instant"];
                /**
                 * @description Length of a bucket, a whole number with ms, s, m, h or d.
                 * @example 5m
                 */
                bucket: components["schemas"]["Length"];
                /**
                 * @description The aggregates in the answer, as of one series. Default: all but `first` and `last`.
                 * @example [
                 *       "mean",
                 *       "max"
                 *     ]
                 */
                fn?: ("count" | "min" | "max" | "mean" | "sum" | "first" | "last")[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The series in the order of the request, each with its buckets that hold readings, by time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "series": [
                     *         {
                     *           "device": "site-3/boiler/probe-7",
                     *           "metric": "temperature",
                     *           "unit": "Cel",
                     *           "buckets": [
                     *             {
                     *               "time": "2026-11-21T14:05:00.000000Z",
                     *               "count": 300,
                     *               "mean": 64.1,
                     *               "max": 64.9
                     *             }
                     *           ],
                     *           "sources": [
                     *             "raw"
                     *           ],
                     *           "incompleteBefore": null
                     *         },
                     *         {
                     *           "device": "site-3/boiler/probe-8",
                     *           "metric": "temperature",
                     *           "buckets": [],
                     *           "sources": [
                     *             "raw"
                     *           ],
                     *           "incompleteBefore": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        series: {
                            device: components["schemas"]["DeviceName"];
                            metric: components["schemas"]["MetricName"];
                            unit?: components["schemas"]["Unit"];
                            buckets: components["schemas"]["Bucket"][];
                            sources: components["schemas"]["Sources"];
                            incompleteBefore: components["schemas"]["IncompleteBefore"];
                        }[];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    listWrongReadings: {
        parameters: {
            query: {
                /**
                 * @description Repeat it for several series.
                 * @example [
                 *       "site-3/boiler/probe-7",
                 *       "site-3/boiler/probe-8"
                 *     ]
                 */
                device: components["schemas"]["DeviceName"][];
                /**
                 * @description One for each device, or one for all. For one device, its metrics.
                 * @example [
                 *       "temperature"
                 *     ]
                 */
                metric: components["schemas"]["MetricName"][];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T00:00:00Z
                 */
                from: components["schemas"]["Instant"];
                /**
                 * @description End, exclusive. Default: now.
                 * @example 2026-11-22T00:00:00Z
                 */
                to?: components["schemas"]["Instant"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The marked readings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "readings": [
                     *         {
                     *           "device": "site-3/boiler/probe-7",
                     *           "metric": "temperature",
                     *           "time": "2026-11-21T14:05:08.000250Z",
                     *           "value": 131.5
                     *         }
                     *       ],
                     *       "complete": true
                     *     }
                     */
                    "application/json": {
                        readings: {
                            device: components["schemas"]["DeviceName"];
                            metric: components["schemas"]["MetricName"];
                            time: components["schemas"]["Time"];
                            value: number;
                        }[];
                        /** @description Whether all readings of the range were read. */
                        complete: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    markReadings: {
        parameters: {
            query: {
                /**
                 * @description A path of 1 to 8 segments.
                 * @example site-3/boiler/probe-7
                 */
                device: components["parameters"]["Device"];
                /**
                 * @description One word.
                 * @example temperature
                 */
                metric: components["schemas"]["MetricName"];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T14:05:08Z
                 */
                from: components["schemas"]["Instant"];
                /** @description End, exclusive. Default: only the reading at `from`. */
                to?: components["schemas"]["Instant"];
                /**
                 * @description Only values above it, and those below `below`.
                 * @example 100
                 */
                above?: number;
                /** @description Only values below it, and those above `above`. */
                below?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many readings changed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "changed": 1,
                     *       "next": null
                     *     }
                     */
                    "application/json": {
                        /** Format: int64 */
                        changed: number;
                        /**
                         * Format: date-time
                         * @description The `from` of the next request. null: the range is done.
                         */
                        next: null | string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    restoreReadings: {
        parameters: {
            query: {
                /**
                 * @description A path of 1 to 8 segments.
                 * @example site-3/boiler/probe-7
                 */
                device: components["parameters"]["Device"];
                /**
                 * @description One word.
                 * @example temperature
                 */
                metric: components["schemas"]["MetricName"];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T14:05:08Z
                 */
                from: components["schemas"]["Instant"];
                /** @description End, exclusive. Default: only the reading at `from`. */
                to?: components["schemas"]["Instant"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many readings changed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "changed": 1,
                     *       "next": null
                     *     }
                     */
                    "application/json": {
                        /** Format: int64 */
                        changed: number;
                        /**
                         * Format: date-time
                         * @description The `from` of the next request. null: the range is done.
                         */
                        next: null | string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    setUnit: {
        parameters: {
            query: {
                /**
                 * @description A path of 1 to 8 segments.
                 * @example site-3/boiler/probe-7
                 */
                device: components["parameters"]["Device"];
                /**
                 * @description One word.
                 * @example temperature
                 */
                metric: components["schemas"]["MetricName"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "unit": "Cel"
                 *     }
                 */
                "application/json": {
                    /** @description A text without control characters. */
                    unit: string;
                };
            };
        };
        responses: {
            /** @description It is stored. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    groupReadings: {
        parameters: {
            query: {
                /**
                 * @description What the readings are grouped by.
                 * @example day
                 */
                by: "device" | "day" | "metric" | "site" | "city" | "kind" | "all";
                /**
                 * @description One word. Default: all metrics.
                 * @example temperature
                 */
                metric?: components["parameters"]["Metric"];
                /**
                 * @description Only this device and all devices below it.
                 * @example site-3
                 */
                prefix?: components["schemas"]["DeviceName"];
                /**
                 * @description Each group has its figures in buckets of this length too, a whole number with ms, s, m, h or d.
                 * @example 1h
                 */
                bucket?: components["schemas"]["Length"];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T00:00:00Z
                 */
                from?: components["parameters"]["From"];
                /**
                 * @description End, exclusive.
                 * @example 1795305600
                 */
                to?: components["parameters"]["To"];
                /**
                 * @description Year of installation.
                 * @example 2019
                 */
                year?: components["parameters"]["Year"];
                /**
                 * @description Exact match.
                 * @example Aveiro
                 */
                city?: components["parameters"]["City"];
                /**
                 * @description Exact match.
                 * @example site-3
                 */
                site?: components["parameters"]["Site"];
                /**
                 * @description Exact match.
                 * @example thermometer
                 */
                kind?: components["parameters"]["Kind"];
                /** @description `key`: ascending. The others: the largest first. */
                order?: "key" | "sum" | "mean" | "count";
                /** @description The answer has the first groups in this order, at most this many. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Groups that hold readings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "groups": [
                     *         {
                     *           "key": "2026-11-21",
                     *           "count": 300,
                     *           "min": 63.5,
                     *           "max": 64.9,
                     *           "mean": 64.125,
                     *           "sum": 19237.5
                     *         }
                     *       ],
                     *       "source": "rows",
                     *       "asOf": null,
                     *       "sources": [
                     *         "raw",
                     *         "day"
                     *       ],
                     *       "incompleteBefore": null
                     *     }
                     */
                    "application/json": {
                        groups: components["schemas"]["Group"][];
                        /**
                         * @description `rows`: computed now, from `sources`. `tables`: read from tables of sums.
                         * @enum {string}
                         */
                        source: "rows" | "tables";
                        /**
                         * Format: date-time
                         * @description The tables contain all readings that were written before. null with `rows`, or if it is not known.
                         */
                        asOf: null | string;
                        sources: components["schemas"]["Sources"];
                        incompleteBefore: components["schemas"]["IncompleteBefore"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    exportReadings: {
        parameters: {
            query?: {
                /** @description The format of the file. */
                format?: "ndjson" | "csv" | "parquet";
                /**
                 * @description Only this device, registered or not. Repeat it for several.
                 * @example [
                 *       "site-3/boiler"
                 *     ]
                 */
                device?: components["schemas"]["DeviceName"][];
                /**
                 * @description Only this device and all devices below it.
                 * @example site-3
                 */
                prefix?: components["schemas"]["DeviceName"];
                /**
                 * @description Year of installation.
                 * @example 2019
                 */
                year?: components["parameters"]["Year"];
                /**
                 * @description Exact match.
                 * @example Aveiro
                 */
                city?: components["parameters"]["City"];
                /**
                 * @description Exact match.
                 * @example site-3
                 */
                site?: components["parameters"]["Site"];
                /**
                 * @description Exact match.
                 * @example thermometer
                 */
                kind?: components["parameters"]["Kind"];
                /**
                 * @description Only this metric. Repeat it for several.
                 * @example [
                 *       "temperature"
                 *     ]
                 */
                metric?: components["schemas"]["MetricName"][];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T00:00:00Z
                 */
                from?: components["parameters"]["From"];
                /**
                 * @description End, exclusive.
                 * @example 1795305600
                 */
                to?: components["parameters"]["To"];
                /** @description Continue after this reading: its device. Needs `afterMetric` and `afterTime`. */
                afterDevice?: components["schemas"]["DeviceName"];
                /** @description The metric of that reading. */
                afterMetric?: components["schemas"]["MetricName"];
                /** @description The time of that reading. */
                afterTime?: components["schemas"]["Instant"];
                /** @description Whether a text ends with a line that counts the readings. Default: true for NDJSON, false for CSV. */
                trailer?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The readings. */
            200: {
                headers: {
                    /** @description A file name. */
                    "Content-Disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {"device":"site-3/boiler","metric":"temperature","time":"2026-11-21T14:05:08.000250Z","value":64.25,"received":"2026-11-21T14:05:08.012731Z","quality":"ok","unit":"Cel"}
                     *     {"complete":true,"rows":1}
                     */
                    "application/x-ndjson": string;
                    /**
                     * @example device,metric,time,value,text,received,quality,boot,seq,unit
                     *     site-3/boiler,temperature,2026-11-21T14:05:08.000250Z,64.25,,2026-11-21T14:05:08.012731Z,ok,,,"Cel"
                     */
                    "text/csv": string;
                    /** @example PAR1 */
                    "application/vnd.apache.parquet": string;
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    listAnnotations: {
        parameters: {
            query?: {
                /**
                 * @description A path of 1 to 8 segments. Repeat it for several devices.
                 * @example [
                 *       "site-3/boiler"
                 *     ]
                 */
                device?: components["schemas"]["DeviceName"][];
                /**
                 * @description Start, inclusive.
                 * @example 2026-11-21T00:00:00Z
                 */
                from?: components["parameters"]["From"];
                /**
                 * @description End, exclusive.
                 * @example 1795305600
                 */
                to?: components["parameters"]["To"];
                /** @description Annotations per page. */
                limit?: number;
                /** @description `next` of the previous page, with the same query. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of annotations. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "annotations": [
                     *         {
                     *           "id": "MTc5NTI2OTkwODAwMDAwMCBzaXRlLTMvYm9pbGVy",
                     *           "device": "site-3/boiler",
                     *           "from": "2026-11-21T14:05:08.000000Z",
                     *           "to": "2026-11-21T15:00:00.000000Z",
                     *           "text": "Heating serviced",
                     *           "by": null
                     *         }
                     *       ],
                     *       "next": null
                     *     }
                     */
                    "application/json": {
                        annotations: components["schemas"]["Annotation"][];
                        next: components["schemas"]["Next"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    createAnnotation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "device": "site-3/boiler",
                 *       "from": "2026-11-21T14:05:08Z",
                 *       "to": "2026-11-21T15:00:00Z",
                 *       "text": "Heating serviced"
                 *     }
                 */
                "application/json": {
                    /** @description A registered device. Default: all devices. */
                    device?: components["schemas"]["DeviceName"];
                    from: components["schemas"]["Instant"];
                    to?: components["schemas"]["Instant"];
                    text: components["schemas"]["AnnotationText"];
                };
            };
        };
        responses: {
            /** @description The annotation. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "MTc5NTI2OTkwODAwMDAwMCBzaXRlLTMvYm9pbGVy",
                     *       "device": "site-3/boiler",
                     *       "from": "2026-11-21T14:05:08.000000Z",
                     *       "to": "2026-11-21T15:00:00.000000Z",
                     *       "text": "Heating serviced",
                     *       "by": null
                     *     }
                     */
                    "application/json": components["schemas"]["Annotation"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    updateAnnotation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `id` of the annotation.
                 * @example MTc5NTI2OTkwODAwMDAwMCBzaXRlLTMvYm9pbGVy
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "Heating serviced and pump replaced",
                 *       "to": "2026-11-21T16:00:00Z"
                 *     }
                 */
                "application/json": {
                    to?: components["schemas"]["Instant"];
                    text: components["schemas"]["AnnotationText"];
                };
            };
        };
        responses: {
            /** @description The annotation. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "MTc5NTI2OTkwODAwMDAwMCBzaXRlLTMvYm9pbGVy",
                     *       "device": "site-3/boiler",
                     *       "from": "2026-11-21T14:05:08.000000Z",
                     *       "to": "2026-11-21T15:00:00.000000Z",
                     *       "text": "Heating serviced",
                     *       "by": null
                     *     }
                     */
                    "application/json": components["schemas"]["Annotation"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    deleteAnnotation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `id` of the annotation.
                 * @example MTc5NTI2OTkwODAwMDAwMCBzaXRlLTMvYm9pbGVy
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    listDevices: {
        parameters: {
            query?: {
                /**
                 * @description Year of installation.
                 * @example 2019
                 */
                year?: components["parameters"]["Year"];
                /**
                 * @description Exact match.
                 * @example Aveiro
                 */
                city?: components["parameters"]["City"];
                /**
                 * @description Exact match.
                 * @example site-3
                 */
                site?: components["parameters"]["Site"];
                /**
                 * @description Exact match.
                 * @example thermometer
                 */
                kind?: components["parameters"]["Kind"];
                /** @description Devices per page. */
                limit?: number;
                /** @description `next` of the previous page, with the same query. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of devices. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "devices": [
                     *         {
                     *           "name": "site-3/boiler/probe-7",
                     *           "site": "site-3",
                     *           "city": "Aveiro",
                     *           "kind": "thermometer",
                     *           "year": 2019,
                     *           "attributes": {
                     *             "floor": 2
                     *           }
                     *         }
                     *       ],
                     *       "next": null
                     *     }
                     */
                    "application/json": {
                        devices: components["schemas"]["Device"][];
                        next: components["schemas"]["Next"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    updateDevices: {
        parameters: {
            query: {
                /**
                 * @description At least one of `year`, `city`, `site` and `kind`, each as a separate query parameter: `?city=Aveiro&year=2019`.
                 * @example {
                 *       "city": "Aveiro",
                 *       "year": 2019
                 *     }
                 */
                filter: {
                    /** Format: int32 */
                    year?: number;
                    city?: components["schemas"]["Filter"];
                    site?: components["schemas"]["Filter"];
                    kind?: components["schemas"]["Filter"];
                };
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: components["requestBodies"]["DevicePatch"];
        responses: {
            /** @description How many matched. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "matched": 23
                     *     }
                     */
                    "application/json": {
                        /** Format: int64 */
                        matched: number;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    getDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The device, a path of 1 to 8 segments. Slashes can be written as `/` or as `%2F`:
                 *     `/v1/devices/site-3/boiler/probe-7`.
                 * @example site-3/boiler/probe-7
                 */
                name: components["schemas"]["DeviceName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The device. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "site-3/boiler/probe-7",
                     *       "site": "site-3",
                     *       "city": "Aveiro",
                     *       "kind": "thermometer",
                     *       "year": 2019,
                     *       "attributes": {
                     *         "floor": 2
                     *       },
                     *       "units": {
                     *         "temperature": "Cel"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["DeviceWithUnits"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    putDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The device, a path of 1 to 8 segments. Slashes can be written as `/` or as `%2F`:
                 *     `/v1/devices/site-3/boiler/probe-7`.
                 * @example site-3/boiler/probe-7
                 */
                name: components["schemas"]["DeviceName"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "site": "site-3",
                 *       "city": "Aveiro",
                 *       "kind": "thermometer",
                 *       "year": 2019,
                 *       "attributes": {
                 *         "floor": 2
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["DeviceFields"];
            };
        };
        responses: {
            /** @description Replaced. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "site-3/boiler/probe-7",
                     *       "site": "site-3",
                     *       "city": "Aveiro",
                     *       "kind": "thermometer",
                     *       "year": 2019,
                     *       "attributes": {
                     *         "floor": 2
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Device"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "site-3/boiler/probe-7",
                     *       "site": "site-3",
                     *       "city": "Aveiro",
                     *       "kind": "thermometer",
                     *       "year": 2019,
                     *       "attributes": {
                     *         "floor": 2
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Device"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    deleteDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The device, a path of 1 to 8 segments. Slashes can be written as `/` or as `%2F`:
                 *     `/v1/devices/site-3/boiler/probe-7`.
                 * @example site-3/boiler/probe-7
                 */
                name: components["schemas"]["DeviceName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    updateDevice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The device, a path of 1 to 8 segments. Slashes can be written as `/` or as `%2F`:
                 *     `/v1/devices/site-3/boiler/probe-7`.
                 * @example site-3/boiler/probe-7
                 */
                name: components["schemas"]["DeviceName"];
            };
            cookie?: never;
        };
        requestBody: components["requestBodies"]["DevicePatch"];
        responses: {
            /** @description The device after the change. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "site-3/boiler/probe-7",
                     *       "site": "site-3",
                     *       "city": "Aveiro",
                     *       "kind": "thermometer",
                     *       "year": 2019,
                     *       "attributes": {
                     *         "floor": 2
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Device"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    scanRecords: {
        parameters: {
            query?: {
                /**
                 * @description The first key. Default: the beginning of the table.
                 * @example user6284781860667377211
                 */
                start?: string;
                /** @description How many records. */
                count?: number;
                /**
                 * @description Names of fields, separated by commas. Default: all fields.
                 * @example [
                 *       "field0",
                 *       "field3"
                 *     ]
                 */
                fields?: components["parameters"]["Fields"];
            };
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The records; fewer than `count` when there are no more. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "records": [
                     *         {
                     *           "key": "user6284781860667377211",
                     *           "fields": {
                     *             "field0": "21.5 °C",
                     *             "field1": "dry"
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        records: components["schemas"]["Record"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    createRecordTable: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fieldCount": 10
                 *     }
                 */
                "application/json": {
                    /** Format: int32 */
                    fieldCount: number;
                };
            };
        };
        responses: {
            /** @description The table exists. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    insertRecords: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "records": [
                 *         {
                 *           "key": "user6284781860667377211",
                 *           "fields": {
                 *             "field0": "21.5 °C",
                 *             "field1": "dry"
                 *           }
                 *         },
                 *         {
                 *           "key": "user8517097267634966620",
                 *           "fields": {
                 *             "field0": "19.0 °C",
                 *             "field1": "wet"
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    /** @description Their size is limited by `BODY_LIMIT`, too, and to 20,000 values in the body. */
                    records: {
                        /** @description A text without U+0000. */
                        key: string;
                        fields: components["schemas"]["RecordFields"];
                    }[];
                };
            };
        };
        responses: {
            /** @description All records exist. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotOurs"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    dropRecordTable: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The table does not exist. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotOurs"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    readRecord: {
        parameters: {
            query?: {
                /**
                 * @description Names of fields, separated by commas. Default: all fields.
                 * @example [
                 *       "field0",
                 *       "field3"
                 *     ]
                 */
                fields?: components["parameters"]["Fields"];
            };
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
                /**
                 * @description Any text without U+0000. Escape the characters that have a meaning in a URL.
                 * @example user6284781860667377211
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "key": "user6284781860667377211",
                     *       "fields": {
                     *         "field0": "21.5 °C",
                     *         "field1": "dry"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Record"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    insertRecord: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
                /**
                 * @description Any text without U+0000. Escape the characters that have a meaning in a URL.
                 * @example user6284781860667377211
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody: components["requestBodies"]["RecordFields"];
        responses: {
            /** @description Inserted. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            /** @description The key already exists. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "type": "about:blank",
                     *       "title": "Conflict",
                     *       "status": 409,
                     *       "detail": "Table usertable already has a record user1.",
                     *       "instance": "/v1/records/usertable/user1"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    deleteRecord: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
                /**
                 * @description Any text without U+0000. Escape the characters that have a meaning in a URL.
                 * @example user6284781860667377211
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    updateRecord: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A letter, then letters, digits and underscores. Names of the store's own tables are refused.
                 * @example usertable
                 */
                table: components["parameters"]["Table"];
                /**
                 * @description Any text without U+0000. Escape the characters that have a meaning in a URL.
                 * @example user6284781860667377211
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody: components["requestBodies"]["RecordFields"];
        responses: {
            /** @description Changed. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    getLedger: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sums and the account of each instance. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "since": "2026-11-21T14:00:00.000000Z",
                     *       "readings": {
                     *         "received": 120,
                     *         "stored": 117,
                     *         "duplicate": 1,
                     *         "filtered": 0,
                     *         "quarantined": 2,
                     *         "spooled": 0,
                     *         "inFlight": 0
                     *       },
                     *       "balanced": true,
                     *       "trouble": null,
                     *       "messages": {
                     *         "received": 120,
                     *         "retainedSkipped": 0
                     *       },
                     *       "mqtt": {
                     *         "connected": true,
                     *         "reconnects": 0
                     *       },
                     *       "oldestUnstoredSeconds": 0,
                     *       "stageSeconds": 60,
                     *       "stages": {
                     *         "travel": {
                     *           "count": 120,
                     *           "p50": 0.0004,
                     *           "p99": 0.0021
                     *         },
                     *         "queue": {
                     *           "count": 120,
                     *           "p50": 0.0001,
                     *           "p99": 0.0009
                     *         },
                     *         "store": {
                     *           "count": 120,
                     *           "p50": 0.0007,
                     *           "p99": 0.0035
                     *         },
                     *         "ack": {
                     *           "count": 120,
                     *           "p50": 0.0001,
                     *           "p99": 0.0003
                     *         },
                     *         "end_to_end": {
                     *           "count": 120,
                     *           "p50": 0.0013,
                     *           "p99": 0.0068
                     *         }
                     *       },
                     *       "deleted": 0,
                     *       "writtenBytes": 118784,
                     *       "gaps": {
                     *         "since": "2026-11-01T08:00:00.000000Z",
                     *         "devices": 50,
                     *         "missing": 0,
                     *         "duplicates": 0,
                     *         "givenUp": 0,
                     *         "unjudged": 0,
                     *         "list": [],
                     *         "truncated": false
                     *       },
                     *       "instances": [],
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": components["schemas"]["Ledger"];
                };
            };
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    listMissing: {
        parameters: {
            query?: {
                /**
                 * @description Only this device and all devices below it.
                 * @example site-3/boiler
                 */
                device?: components["schemas"]["DeviceName"];
                /** @description Boots of devices at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The missing readings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "missing": [
                     *         {
                     *           "device": "site-3/boiler/probe-7",
                     *           "boot": "a1",
                     *           "ranges": [
                     *             [
                     *               212,
                     *               214
                     *             ]
                     *           ]
                     *         }
                     *       ],
                     *       "truncated": false,
                     *       "isKnown": true
                     *     }
                     */
                    "application/json": {
                        missing: {
                            device: string;
                            boot: string;
                            /** @description Inclusive ranges of sequence numbers in ascending order, the highest of them. */
                            ranges: number[][];
                        }[];
                        /** @description Whether more boots have missing readings. */
                        truncated: boolean;
                        /** @description Whether one ingest process receives all readings. */
                        isKnown: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    listAlerts: {
        parameters: {
            query?: {
                /**
                 * @description Only alerts of this device and all devices below it.
                 * @example site-3/boiler
                 */
                device?: components["schemas"]["DeviceName"];
                /** @description Only alerts in this state. */
                state?: "active" | "ended";
                /**
                 * @description Only alerts of the rule with this name.
                 * @example boiler-hot
                 */
                rule?: string;
                /** @description Only alerts of this severity. */
                severity?: "info" | "warning" | "critical";
                /** @description Alerts per page. */
                limit?: number;
                /** @description `next` of the previous page, with the same query. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of alerts, and how many are active. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "configured": true,
                     *       "evaluating": true,
                     *       "rules": 2,
                     *       "active": {
                     *         "info": 0,
                     *         "warning": 0,
                     *         "critical": 1
                     *       },
                     *       "alerts": [
                     *         {
                     *           "id": "5f1c0a9e3b7d4c2288aa0f1e",
                     *           "rule": "boiler-hot",
                     *           "severity": "critical",
                     *           "state": "active",
                     *           "kind": "above",
                     *           "device": "site-3/boiler/probe-7",
                     *           "metric": "temperature",
                     *           "limit": 80,
                     *           "value": 81.5,
                     *           "since": "2026-11-21T14:05:08.012731Z",
                     *           "raised": "2026-11-21T14:10:08.020114Z",
                     *           "ended": null,
                     *           "reason": null
                     *         }
                     *       ],
                     *       "next": null,
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        /** @description Whether ingest has a file of rules. */
                        configured: boolean;
                        /** @description Whether an ingest process that answers evaluates the rules. */
                        evaluating: boolean;
                        /**
                         * Format: int32
                         * @description Rules in use.
                         */
                        rules: number;
                        /** @description Active alerts of the devices that were requested, by severity. */
                        active: {
                            /** Format: int32 */
                            info: number;
                            /** Format: int32 */
                            warning: number;
                            /** Format: int32 */
                            critical: number;
                        };
                        alerts: components["schemas"]["Alert"][];
                        next: components["schemas"]["Next"];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    listAlertRules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rules. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rules": [
                     *         {
                     *           "name": "boiler-hot",
                     *           "device": "site-3/boiler",
                     *           "metric": "temperature",
                     *           "above": 80,
                     *           "clear": 75,
                     *           "for": "5m",
                     *           "severity": "critical"
                     *         }
                     *       ],
                     *       "trouble": null,
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        rules: components["schemas"]["AlertRule"][];
                        /** @description Why the rules in use are not those of the file. null: they are. */
                        trouble: null | string;
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    putAlertRule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the entry.
                 * @example boiler-hot
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "device": "site-3/boiler",
                 *       "metric": "temperature",
                 *       "above": 80,
                 *       "clear": 75,
                 *       "for": "5m",
                 *       "severity": "critical"
                 *     }
                 */
                "application/json": components["schemas"]["AlertRuleFields"];
            };
        };
        responses: {
            /** @description What each ingest process did. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "instances": [
                     *         {
                     *           "instance": "ingest-1",
                     *           "replaced": false
                     *         }
                     *       ],
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        instances: components["schemas"]["EntryChanges"];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Problem"];
            422: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    deleteAlertRule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the entry.
                 * @example boiler-hot
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What each ingest process did. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "instances": [
                     *         {
                     *           "instance": "ingest-1",
                     *           "replaced": false
                     *         }
                     *       ],
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        instances: components["schemas"]["EntryChanges"];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Problem"];
            422: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    listAlertReceivers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The receivers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "receivers": [
                     *         {
                     *           "name": "phone",
                     *           "kind": "ntfy",
                     *           "target": "ntfy.sh",
                     *           "isEntry": true,
                     *           "sent": 2,
                     *           "failed": 0,
                     *           "dropped": 0,
                     *           "waiting": 0
                     *         }
                     *       ],
                     *       "trouble": null,
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        receivers: components["schemas"]["AlertReceiver"][];
                        /** @description Why the receivers in use are not those of the file. null: they are. */
                        trouble: null | string;
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    putAlertReceiver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the entry.
                 * @example boiler-hot
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "ntfy",
                 *       "url": "https://ntfy.sh/my-topic"
                 *     }
                 */
                "application/json": components["schemas"]["AlertReceiverFields"];
            };
        };
        responses: {
            /** @description What each ingest process did. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "instances": [
                     *         {
                     *           "instance": "ingest-1",
                     *           "replaced": false
                     *         }
                     *       ],
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        instances: components["schemas"]["EntryChanges"];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Problem"];
            422: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    deleteAlertReceiver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the entry.
                 * @example boiler-hot
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What each ingest process did. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "instances": [
                     *         {
                     *           "instance": "ingest-1",
                     *           "replaced": false
                     *         }
                     *       ],
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        instances: components["schemas"]["EntryChanges"];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Problem"];
            422: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    testAlertReceiver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the entry.
                 * @example boiler-hot
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The receiver accepted it. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    listQuarantine: {
        parameters: {
            query?: {
                /** @description Items per page. */
                limit?: number;
                /**
                 * @description Only items with this reason.
                 * @example malformed
                 */
                reason?: string;
                /**
                 * @description Only items of the ingest process with this name, which is the first part of an id.
                 * @example ingest-1
                 */
                instance?: string;
                /** @description `next` of the previous page, with the same query. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of items, and how many there are in all. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "ingest-1.17",
                     *           "received": "2026-11-21T14:05:08.012731Z",
                     *           "topic": "sensors/site-3/boiler/probe-7/temperature",
                     *           "reason": "malformed",
                     *           "detail": "expected a number, found \"sixty\"",
                     *           "position": "byte 0",
                     *           "size": 5,
                     *           "readings": 1
                     *         }
                     *       ],
                     *       "next": null,
                     *       "total": 1,
                     *       "reasons": {
                     *         "malformed": 1
                     *       },
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        items: components["schemas"]["QuarantineItem"][];
                        next: components["schemas"]["Next"];
                        /**
                         * Format: int64
                         * @description Items that the filter matches.
                         */
                        total: number;
                        /** @description Number of items by reason, over all reasons. */
                        reasons: {
                            [key: string]: number;
                        };
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    replayQuarantine: {
        parameters: {
            query?: {
                /**
                 * @description Only items with this reason.
                 * @example malformed
                 */
                reason?: string;
                /**
                 * @description Only items of the ingest process with this name, which is the first part of an id.
                 * @example ingest-1
                 */
                instance?: string;
                /**
                 * @description Only items received up to this time.
                 * @example 2026-11-21T14:05:08Z
                 */
                until?: components["schemas"]["Instant"];
                /** @description Items per request, at most. */
                limit?: number;
                /** @description `next` of the previous page, with the same query. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The results. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "tried": 3,
                     *       "replayed": 2,
                     *       "kept": 1,
                     *       "stored": 2,
                     *       "duplicate": 0,
                     *       "next": null,
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        /**
                         * Format: int64
                         * @description Messages.
                         */
                        tried: number;
                        /**
                         * Format: int64
                         * @description Messages that left quarantine.
                         */
                        replayed: number;
                        /**
                         * Format: int64
                         * @description Messages that failed again.
                         */
                        kept: number;
                        /**
                         * Format: int64
                         * @description Readings.
                         */
                        stored: number;
                        /**
                         * Format: int64
                         * @description Readings that were stored before.
                         */
                        duplicate: number;
                        next: components["schemas"]["Next"];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    discardQuarantine: {
        parameters: {
            query?: {
                /**
                 * @description Only items with this reason.
                 * @example malformed
                 */
                reason?: string;
                /**
                 * @description Only items of the ingest process with this name, which is the first part of an id.
                 * @example ingest-1
                 */
                instance?: string;
                /**
                 * @description Only items received up to this time.
                 * @example 2026-11-21T14:05:08Z
                 */
                until?: components["schemas"]["Instant"];
                /** @description Items per request, at most. */
                limit?: number;
                /** @description `next` of the previous page, with the same query. */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many were discarded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "discarded": 3,
                     *       "next": null,
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        /** Format: int64 */
                        discarded: number;
                        next: components["schemas"]["Next"];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    listQuarantineCauses: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The causes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "causes": [
                     *         {
                     *           "reason": "unknown_topic",
                     *           "route": null,
                     *           "topic": "zigbee2mqtt/{device}",
                     *           "count": 12,
                     *           "last": {
                     *             "id": "ingest-1.17",
                     *             "topic": "zigbee2mqtt/lamp",
                     *             "detail": "topic \"zigbee2mqtt/lamp\" matches no route (sensors/{device+}/{metric})",
                     *             "received": "2026-11-21T14:05:08.012731Z"
                     *           },
                     *           "fix": "add a route: - preset: zigbee2mqtt, or - topic: zigbee2mqtt/{device}",
                     *           "proposals": [
                     *             {
                     *               "preset": "zigbee2mqtt"
                     *             },
                     *             {
                     *               "topic": "zigbee2mqtt/{device}"
                     *             }
                     *           ]
                     *         }
                     *       ],
                     *       "messages": 12,
                     *       "total": 12,
                     *       "unlisted": 0,
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        causes: components["schemas"]["Cause"][];
                        /**
                         * Format: int64
                         * @description Messages that were read.
                         */
                        messages: number;
                        /**
                         * Format: int64
                         * @description Messages in quarantine.
                         */
                        total: number;
                        /**
                         * Format: int64
                         * @description Messages that were read and whose cause is not in the list, because it is full.
                         */
                        unlisted: number;
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getQuarantineItem: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `<instance>.<number>`, as in the list.
                 * @example ingest-1.17
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The item. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "ingest-1.17",
                     *       "received": "2026-11-21T14:05:08.012731Z",
                     *       "topic": "sensors/site-3/boiler/probe-7/temperature",
                     *       "reason": "malformed",
                     *       "detail": "expected a number, found \"sixty\"",
                     *       "position": "byte 0",
                     *       "size": 5,
                     *       "readings": 1,
                     *       "payload": "c2l4dHk="
                     *     }
                     */
                    "application/json": components["schemas"]["QuarantineItem"];
                };
            };
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    discardQuarantineItem: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `<instance>.<number>`, as in the list.
                 * @example ingest-1.17
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Discarded. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    replayQuarantineItem: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `<instance>.<number>`, as in the list.
                 * @example ingest-1.17
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "received": 1,
                     *       "stored": 1,
                     *       "duplicate": 0,
                     *       "quarantined": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Delivery"];
                };
            };
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    explain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "topic": "tele/attic/SENSOR",
                 *       "payload": "{\"SI7021\":{\"Temperature\":21.5,\"Humidity\":null}}",
                 *       "route": {
                 *         "preset": "tasmota"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description A topic of 1 to 16,000 characters, without +, # and U+0000. */
                    topic: string;
                    /** @description Text, or base64 with `encoding: base64`. */
                    payload: string;
                    /**
                     * @default text
                     * @enum {string}
                     */
                    encoding?: "text" | "base64";
                    /**
                     * @description The format to try in place of that of the route.
                     * @enum {string}
                     */
                    format?: "auto" | "plain" | "text" | "json" | "senml-json" | "senml-cbor" | "influx" | "sparkplug-b";
                    route?: components["schemas"]["RouteEntry"];
                };
            };
        };
        responses: {
            /** @description The explanation. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "topic": "tele/attic/SENSOR",
                     *       "route": {
                     *         "name": "tasmota",
                     *         "topic": "tele/{device}/SENSOR",
                     *         "format": "auto",
                     *         "preset": "tasmota"
                     *       },
                     *       "device": "attic",
                     *       "metric": null,
                     *       "total": 1,
                     *       "readings": [
                     *         {
                     *           "device": "attic",
                     *           "metric": "SI7021.Temperature",
                     *           "time": "2026-11-21T14:05:08.012731Z",
                     *           "value": 21.5,
                     *           "received": "2026-11-21T14:05:08.012731Z",
                     *           "quality": "ok",
                     *           "unit": "Cel"
                     *         }
                     *       ],
                     *       "ignored": [
                     *         {
                     *           "field": "SI7021.Humidity",
                     *           "reason": "it is null"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            422: components["responses"]["RouteNotValid"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    addRoute: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "route": {
                 *         "preset": "zigbee2mqtt"
                 *       }
                 *     }
                 */
                "application/json": {
                    route: components["schemas"]["RouteEntry"];
                };
            };
        };
        responses: {
            /** @description What each ingest process did. Those that could not add it are in `unreachable`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "instances": [
                     *         {
                     *           "instance": "ingest-1",
                     *           "added": true,
                     *           "topics": [
                     *             "zigbee2mqtt/{device+}"
                     *           ]
                     *         }
                     *       ],
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        instances: {
                            instance: string;
                            /** @description False when the file had an equal entry before. */
                            added: boolean;
                            /** @description The topic templates of the entry. */
                            topics: string[];
                        }[];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            /** @description Ingest cannot write the routes file. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "type": "about:blank",
                     *       "title": "Routes file not writable",
                     *       "status": 409,
                     *       "detail": "the routes file /etc/tidegauge/routes.yml cannot be written: EROFS: read-only file system: it is mounted read-only: change it where it comes from.",
                     *       "instance": "/v1/routes"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["RouteNotValid"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    live: {
        parameters: {
            query?: {
                /**
                 * @description This device and all devices below it.
                 * @example site-3
                 */
                device?: components["schemas"]["DeviceName"];
                /**
                 * @description One word. Default: all metrics.
                 * @example temperature
                 */
                metric?: components["parameters"]["Metric"];
            };
            header?: {
                /** @description The id of the last event that was received. Browsers send it automatically. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. It does not end. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example id: m3k9x2-1042
                     *     event: readings
                     *     data: {"readings":[{"device":"site-3/boiler/probe-7","metric":"temperature","time":"2026-11-21T14:05:08.000250Z","value":64.25,"received":"2026-11-21T14:05:08.012731Z","quality":"ok","unit":"Cel"}]}
                     */
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    listKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "keys": [
                     *         {
                     *           "id": "3f9c0a7b21",
                     *           "name": "grafana",
                     *           "scopes": [
                     *             "read"
                     *           ],
                     *           "devices": null,
                     *           "created": "2026-11-21T14:05:08.012Z",
                     *           "expires": null,
                     *           "revoked": null,
                     *           "state": "valid"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        keys: components["schemas"]["Key"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            409: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "grafana",
                 *       "scopes": [
                 *         "read"
                 *       ]
                 *     }
                 */
                "application/json": {
                    /** @description What the key is for. No control characters. */
                    name: string;
                    scopes: ("read" | "write" | "admin")[];
                    devices?: components["schemas"]["DeviceName"];
                    /**
                     * Format: int32
                     * @description How long it is valid. Default: until it is revoked.
                     */
                    expiresInDays?: number;
                };
            };
        };
        responses: {
            /** @description The key, with its text. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "text": "tg_3f9c0a7b21_0123456789abcdef0123456789abcdef0123456789abcdef",
                     *       "key": {
                     *         "id": "3f9c0a7b21",
                     *         "name": "grafana",
                     *         "scopes": [
                     *           "read"
                     *         ],
                     *         "devices": null,
                     *         "created": "2026-11-21T14:05:08.012Z",
                     *         "expires": null,
                     *         "revoked": null,
                     *         "state": "valid"
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @description Send it as `Authorization: Bearer`. */
                        text: string;
                        key: components["schemas"]["Key"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            409: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The second part of the text of the key.
                 * @example 3f9c0a7b21
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    listPasswords: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The names. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "users": [
                     *         "site-3"
                     *       ],
                     *       "total": 1,
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        users: string[];
                        /** Format: int32 */
                        total: number;
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            409: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    setPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user": "site-3"
                 *     }
                 */
                "application/json": {
                    /** @description It may publish below sensors/USER/. No colon and no control characters. */
                    user: string;
                    /** @description Whether the password of an existing login is replaced. Default: false. */
                    replace?: boolean;
                };
            };
        };
        responses: {
            /** @description The password, and what each ingest process did. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user": "site-3",
                     *       "password": "N2mVZ0m1o5cX0h4vYy7m8Qb1",
                     *       "instances": [
                     *         {
                     *           "instance": "ingest-1",
                     *           "replaced": false
                     *         }
                     *       ],
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        user: string;
                        password: string;
                        instances: components["schemas"]["EntryChanges"];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            409: components["responses"]["Problem"];
            422: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    removePassword: {
        parameters: {
            query: {
                /**
                 * @description The name of the login.
                 * @example site-3
                 */
                user: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What each ingest process did. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "instances": [
                     *         {
                     *           "instance": "ingest-1",
                     *           "replaced": false
                     *         }
                     *       ],
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": {
                        instances: components["schemas"]["EntryChanges"];
                        unreachable: components["schemas"]["Unreachable"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Problem"];
            422: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getRetention: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rules. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rules": [
                     *         {
                     *           "devices": "site-3/boiler",
                     *           "metrics": [
                     *             "vibration"
                     *           ],
                     *           "keep": "raw:7d"
                     *         }
                     *       ],
                     *       "others": "raw:forever",
                     *       "trouble": null,
                     *       "maxBytes": 0,
                     *       "minFreeBytes": 0,
                     *       "everySeconds": 3600,
                     *       "last": {
                     *         "started": "2026-11-21T14:05:08.012731Z",
                     *         "seconds": 0.4,
                     *         "result": "done",
                     *         "deleted": 1200
                     *       },
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": components["schemas"]["Retention"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            409: components["responses"]["Problem"];
            422: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    setRetention: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "rules": [
                 *         {
                 *           "devices": "site-3",
                 *           "keep": "raw:1y"
                 *         }
                 *       ],
                 *       "before": []
                 *     }
                 */
                "application/json": {
                    rules: components["schemas"]["RetentionRules"];
                    before?: components["schemas"]["RetentionRules"];
                };
            };
        };
        responses: {
            /** @description The rules. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rules": [
                     *         {
                     *           "devices": "site-3/boiler",
                     *           "metrics": [
                     *             "vibration"
                     *           ],
                     *           "keep": "raw:7d"
                     *         }
                     *       ],
                     *       "others": "raw:forever",
                     *       "trouble": null,
                     *       "maxBytes": 0,
                     *       "minFreeBytes": 0,
                     *       "everySeconds": 3600,
                     *       "last": {
                     *         "started": "2026-11-21T14:05:08.012731Z",
                     *         "seconds": 0.4,
                     *         "result": "done",
                     *         "deleted": 1200
                     *       },
                     *       "unreachable": []
                     *     }
                     */
                    "application/json": components["schemas"]["Retention"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            409: components["responses"]["Problem"];
            422: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    previewRetention: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "rules": [
                 *         {
                 *           "devices": "site-3",
                 *           "keep": "raw:1y"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    rules: components["schemas"]["RetentionRules"];
                };
            };
        };
        responses: {
            /** @description The numbers, in the order of the rules. The last rule is the one for all other series. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rules": [
                     *         {
                     *           "rule": "site-3",
                     *           "before": "2025-11-21T14:05:08.012731Z",
                     *           "readings": 1200,
                     *           "series": 3,
                     *           "oldest": "2025-10-01T00:00:00.000000Z",
                     *           "newest": "2025-11-21T14:05:07.000000Z"
                     *         }
                     *       ],
                     *       "isComplete": true
                     *     }
                     */
                    "application/json": {
                        rules: {
                            rule: string;
                            /** @description Readings before this time would be deleted. null: none. */
                            before: string | null;
                            /** Format: int64 */
                            readings: number;
                            /** Format: int64 */
                            series: number;
                            oldest: string | null;
                            newest: string | null;
                        }[];
                        isComplete: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            422: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    listBackups: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The backups. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "backups": [
                     *         {
                     *           "name": "tidegauge-2026-11-21T02-00-00-000Z",
                     *           "started": "2026-11-21T02:00:00.000Z",
                     *           "readings": 1200000,
                     *           "bytes": 24000000,
                     *           "verified": null
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "isRunning": false,
                     *       "isFailing": false,
                     *       "everySeconds": 86400
                     *     }
                     */
                    "application/json": {
                        backups: {
                            name: string;
                            started: string;
                            /**
                             * Format: int64
                             * @description null: its manifest cannot be read.
                             */
                            readings: null | number;
                            /** Format: int64 */
                            bytes: null | number;
                            /** @description When a restored store was compared with it and was equal. null: never. */
                            verified: null | string;
                        }[];
                        /** Format: int32 */
                        total: number;
                        /** @description Whether a backup is made now. */
                        isRunning: boolean;
                        /** @description Whether the last attempt failed. */
                        isFailing: boolean;
                        /** @description Time from one backup to the next. */
                        everySeconds: number;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            409: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    requestBackup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The backup was requested. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "requested": true
                     *     }
                     */
                    "application/json": {
                        requested: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            409: components["responses"]["Problem"];
            429: components["responses"]["TooMany"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /** @description Entries, at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "entries": [
                     *         {
                     *           "time": "2026-11-21T14:05:08.012Z",
                     *           "kind": "key",
                     *           "sender": "3f9c0a7b21",
                     *           "client": "192.0.2.7",
                     *           "action": "putDevice",
                     *           "resource": "/v1/devices/site-3",
                     *           "outcome": "done",
                     *           "status": 200,
                     *           "count": 1
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        entries: components["schemas"]["AuditEntry"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the sender may do. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "sender": "3f9c0a7b21",
                     *       "scopes": [
                     *         "read"
                     *       ],
                     *       "devices": null,
                     *       "expires": "2026-11-22T02:05:08.000Z",
                     *       "csrf": "Zk0n5nC2o1"
                     *     }
                     */
                    "application/json": components["schemas"]["Session"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    beginSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the sender may do. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "sender": "3f9c0a7b21",
                     *       "scopes": [
                     *         "read"
                     *       ],
                     *       "devices": null,
                     *       "expires": "2026-11-22T02:05:08.000Z",
                     *       "csrf": "Zk0n5nC2o1"
                     *     }
                     */
                    "application/json": components["schemas"]["Session"];
                };
            };
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    endSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed out. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
    tsdbVersion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "version": "2.4.1",
                     *       "repo": "Tidegauge"
                     *     }
                     */
                    "application/json": {
                        version: string;
                    } & {
                        [key: string]: string;
                    };
                };
            };
            400: components["responses"]["TsdbInvalid"];
            401: components["responses"]["TsdbNoKey"];
            403: components["responses"]["TsdbNotAllowed"];
            429: components["responses"]["TsdbTooMany"];
            default: components["responses"]["TsdbFailure"];
        };
    };
    tsdbAggregators: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Their names. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       "avg",
                     *       "max",
                     *       "min",
                     *       "sum"
                     *     ]
                     */
                    "application/json": components["schemas"]["TsdbNames"];
                };
            };
            400: components["responses"]["TsdbInvalid"];
            401: components["responses"]["TsdbNoKey"];
            403: components["responses"]["TsdbNotAllowed"];
            429: components["responses"]["TsdbTooMany"];
            default: components["responses"]["TsdbFailure"];
        };
    };
    tsdbFilters: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What each type does, by its name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "wildcard": {
                     *         "description": "A text in which * stands for any characters.",
                     *         "examples": "device=wildcard(site-1/*)"
                     *       }
                     *     }
                     */
                    "application/json": {
                        [key: string]: {
                            description: string;
                            examples: string;
                        };
                    };
                };
            };
            400: components["responses"]["TsdbInvalid"];
            401: components["responses"]["TsdbNoKey"];
            403: components["responses"]["TsdbNotAllowed"];
            429: components["responses"]["TsdbTooMany"];
            default: components["responses"]["TsdbFailure"];
        };
    };
    tsdbSuggest: {
        parameters: {
            query: {
                /**
                 * @description What is named.
                 * @example metrics
                 */
                type: "metrics" | "tagk" | "tagv";
                /**
                 * @description The beginning of the names.
                 * @example temp
                 */
                q?: string;
                /** @description The most names. */
                max?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The first of these names. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       "temperature"
                     *     ]
                     */
                    "application/json": components["schemas"]["TsdbNames"];
                };
            };
            400: components["responses"]["TsdbInvalid"];
            401: components["responses"]["TsdbNoKey"];
            403: components["responses"]["TsdbNotAllowed"];
            429: components["responses"]["TsdbTooMany"];
            default: components["responses"]["TsdbFailure"];
        };
    };
    tsdbLookUp: {
        parameters: {
            query: {
                /**
                 * @description A metric, or * for all, with filters of tags: temperature{device=*,city=Faro}.
                 * @example temperature{device=*}
                 */
                m: string;
                /** @description The most series. */
                limit?: number;
                /** @description Has no effect. */
                useMeta?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The first of these series. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "type": "LOOKUP",
                     *       "metric": "temperature",
                     *       "tags": [
                     *         {
                     *           "key": "device",
                     *           "value": "*"
                     *         }
                     *       ],
                     *       "limit": 25,
                     *       "time": 3,
                     *       "results": [
                     *         {
                     *           "tsuid": "4C1D0A6E2B9F7788AABBCCDD",
                     *           "metric": "temperature",
                     *           "tags": {
                     *             "device": "site-3/boiler",
                     *             "prefix": "site-3"
                     *           }
                     *         }
                     *       ],
                     *       "startIndex": 0,
                     *       "totalResults": 1
                     *     }
                     */
                    "application/json": components["schemas"]["TsdbLookup"];
                };
            };
            400: components["responses"]["TsdbInvalid"];
            401: components["responses"]["TsdbNoKey"];
            403: components["responses"]["TsdbNotAllowed"];
            429: components["responses"]["TsdbTooMany"];
            default: components["responses"]["TsdbFailure"];
        };
    };
    tsdbQuery: {
        parameters: {
            query: {
                /**
                 * @description Start, inclusive: seconds (up to 10 digits) or milliseconds since 1970, 1h-ago, or 2026/11/21-14:05:08 in UTC.
                 * @example 1h-ago
                 */
                start: string;
                /** @description End, inclusive. Default: now. */
                end?: string;
                /**
                 * @description aggregator[:downsampling][:rate[{options}]][:explicit_tags]:metric[{tags that group}[{other filters}]]
                 * @example [
                 *       "avg:1m-avg:temperature{device=*}"
                 *     ]
                 */
                m: string[];
                /** @description Times of the answer are milliseconds instead of seconds. */
                ms?: string;
                /** @description The points are pairs in an array. */
                arrays?: string;
                /** @description Each result has its query. */
                show_query?: string;
                /** @description Has no effect. */
                no_annotations?: string;
                /** @description Has no effect. */
                global_annotations?: string;
                /** @description UTC only. */
                timezone?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A result for each combination of the values of the tags that group. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "metric": "temperature",
                     *         "tags": {
                     *           "device": "site-3/boiler",
                     *           "prefix": "site-3"
                     *         },
                     *         "aggregateTags": [],
                     *         "dps": {
                     *           "1795269900": 21.5,
                     *           "1795269960": 21.25
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["TsdbResults"];
                };
            };
            400: components["responses"]["TsdbInvalid"];
            401: components["responses"]["TsdbNoKey"];
            403: components["responses"]["TsdbNotAllowed"];
            429: components["responses"]["TsdbTooMany"];
            default: components["responses"]["TsdbFailure"];
        };
    };
    tsdbPostQuery: {
        parameters: {
            query?: {
                /** @description The points are pairs in an array. */
                arrays?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "start": 1795269900000,
                 *       "end": 1795273500000,
                 *       "msResolution": true,
                 *       "queries": [
                 *         {
                 *           "metric": "temperature",
                 *           "aggregator": "avg",
                 *           "downsample": "1m-avg",
                 *           "filters": [
                 *             {
                 *               "type": "wildcard",
                 *               "tagk": "device",
                 *               "filter": "site-3/*",
                 *               "groupBy": true
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["TsdbQuery"];
            };
        };
        responses: {
            /** @description A result for each combination of the values of the tags that group. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "metric": "temperature",
                     *         "tags": {
                     *           "device": "site-3/boiler",
                     *           "prefix": "site-3"
                     *         },
                     *         "aggregateTags": [],
                     *         "dps": {
                     *           "1795269900": 21.5,
                     *           "1795269960": 21.25
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["TsdbResults"];
                };
            };
            400: components["responses"]["TsdbInvalid"];
            401: components["responses"]["TsdbNoKey"];
            403: components["responses"]["TsdbNotAllowed"];
            429: components["responses"]["TsdbTooMany"];
            default: components["responses"]["TsdbFailure"];
        };
    };
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Alive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok"
                     *     }
                     */
                    "application/json": components["schemas"]["Health"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ready. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok"
                     *     }
                     */
                    "application/json": components["schemas"]["Health"];
                };
            };
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metrics of this process. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example tidegauge_http_request_seconds_count{method="GET",route="/v1/readings",status="200"} 17 */
                    "text/plain": string;
                };
            };
            401: components["responses"]["NoKey"];
            403: components["responses"]["NotAllowed"];
            429: components["responses"]["TooMany"];
            default: components["responses"]["Problem"];
        };
    };
}
