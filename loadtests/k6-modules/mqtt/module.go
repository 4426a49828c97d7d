// Package mqtt is the k6 module k6/x/tidegauge/mqtt: an MQTT 3.1.1 client that measures.
//
// Counters mqtt_sent, mqtt_acked, mqtt_received, mqtt_duplicates and mqtt_errors_<kind>; trends, in milliseconds,
// from a publish to its acknowledgement and to its reception by a subscriber in the same k6 process, both from the
// moment the publish was made and (with _intended) from the moment it should have been made.
package mqtt

import (
	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
)

func init() {
	modules.Register("k6/x/tidegauge/mqtt", &rootModule{tracker: newTracker(trackedAtMost)})
}

// rootModule is one for the process: publishers and subscribers are different virtual users.
type rootModule struct {
	tracker *tracker
}

type instance struct {
	vu      modules.VU
	meter   *meter
	tracker *tracker
}

func (root *rootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	meter, err := newMeter(vu.InitEnv().Registry)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	return &instance{vu: vu, meter: meter, tracker: root.tracker}
}

func (module *instance) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{
		"connect": module.connect,
		"pending": module.tracker.pending,
	}}
}

// connect opens a connection and returns its client, or throws within the connect timeout.
func (module *instance) connect(value sobek.Value) sobek.Value {
	runtime := module.vu.Runtime()
	if module.vu.State() == nil {
		common.Throw(runtime, common.NewInitContextError("connect belongs into a function that k6 runs"))
	}
	options, err := parseOptions(runtime, value)
	if err != nil {
		common.Throw(runtime, err)
	}
	client, err := dial(module, options)
	if err != nil {
		common.Throw(runtime, err)
	}
	return runtime.ToValue(client)
}
