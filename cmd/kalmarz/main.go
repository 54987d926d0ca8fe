// Kalmarz is a laboratory for linear-attention sequence mixers.
package main

import (
	"os"

	"github.com/kalmarz/kalmarz/lab"
)

func main() { os.Exit(lab.Main(os.Args[1:])) }
