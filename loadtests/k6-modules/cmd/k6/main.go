// Command k6 is k6 with the modules of this folder compiled in.
package main

import (
	"go.k6.io/k6/cmd"

	_ "tidegauge/k6-modules/mqtt"
	_ "tidegauge/k6-modules/records"
)

func main() {
	cmd.Execute()
}
