// Package porttest finds addresses for the servers of tests.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
)

// Ports below 10000 belong to services, those from 20000 on are derived from a job's name (package dist) or handed
// out by the system.
const (
	firstPort = 10000
	portCount = 10000
)

// FreeAddress returns a loopback address at which nothing listens. Another program may take the address before the
// test does, because FreeAddress keeps no listener open. That is unlikely: the port is random and, unless the system
// is configured otherwise, outgoing connections do not get it. On Linux the host is random too.
func FreeAddress(t testing.TB) string {
	t.Helper()
	var err error
	for range 100 {
		host := "127.0.0.1"
		if runtime.GOOS == "linux" {
			host = fmt.Sprintf("127.%d.%d.%d", 1+rand.N(254), rand.N(255), 1+rand.N(254))
		}
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("%s:%d", host, firstPort+rand.N(portCount))); err == nil {
			_ = l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal(err)
	return ""
}
