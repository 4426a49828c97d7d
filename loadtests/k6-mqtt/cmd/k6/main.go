// Command k6 is k6 with the MQTT module of this folder compiled in.
package main

import (
	"go.k6.io/k6/cmd"

	_ "tidegauge/k6-mqtt"
)

func main() {
	cmd.Execute()
}
