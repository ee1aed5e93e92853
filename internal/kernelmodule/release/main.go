// Command release makes the modules of prebuilt kernels; .ci/release calls it.
//
// What belongs here: flags. What does not: everything else (kernelmodule).
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/kernelmodule"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "", "the `folder` of the proxy that the modules go to")
	version := flag.String("gpk", "", "the `version` of gpk that the modules require")
	at := flag.String("time", "", "the release's `time`, in RFC 3339")
	flag.Parse()
	if *out == "" || *version == "" || flag.NArg() == 0 {
		log.Fatal("usage: release -o FOLDER -gpk VERSION -time TIME LIBRARY...")
	}
	when, err := time.Parse(time.RFC3339, *at)
	if err != nil {
		log.Fatal(err)
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		log.Fatal(err)
	}
	for _, library := range flag.Args() {
		m, err := kernelmodule.Write(*out, kernelmodule.Options{Library: library, License: string(license), GPK: *version, Time: when, Companions: cutlass.Companions()})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s %s\n%s %s/go.mod %s\n", m.Path, m.Version, m.Sum, m.Path, m.Version, m.GoModSum)
	}
}
