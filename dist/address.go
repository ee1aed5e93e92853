package dist

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
)

// Ports derived from a job's name lie below those that systems hand out by themselves (32768 on
// Linux). Several are tried, in one order, as another program may have one of them.
const (
	firstPort  = 20000
	portCount  = 12000
	candidates = 4
)

// addresses returns where rank 0 of the job may be reached, in the order to be tried.
func (p place) addresses() ([]string, error) {
	if p.address != "" {
		return []string{p.address}, nil
	}
	if p.host == "" {
		return nil, fmt.Errorf("%w: %s does not say where rank 0 is; set GPK_ADDR=host:port", errLauncher, p.launcher)
	}
	sum := sha256.Sum256([]byte("port/" + p.job))
	out := make([]string, candidates)
	for i := range out {
		port := firstPort + int(binary.BigEndian.Uint32(sum[4*i:])%portCount)
		out[i] = net.JoinHostPort(p.host, strconv.Itoa(port))
	}
	return out, nil
}

// token returns the secret of the job: that of GPK_TOKEN, else what all of its ranks know.
func (p place) token(secret string) []byte {
	sum := sha256.Sum256([]byte("token/" + secret + "/" + p.job))
	return sum[:]
}

// listenAddresses are where rank 0 listens so that it is reached at the given addresses: at their
// hosts' addresses alone, not at every interface.
func listenAddresses(addresses []string) ([]string, error) {
	var out []string
	for _, a := range addresses {
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			return nil, err
		}
		ip, err := ownIP(host)
		if err != nil {
			return nil, err
		}
		out = append(out, net.JoinHostPort(ip, port))
	}
	return out, nil
}

// ownIP returns the address of an interface of this machine that host is a name of.
func ownIP(host string) (string, error) {
	names, err := net.LookupHost(host)
	if err != nil {
		return "", err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		ip := net.ParseIP(name)
		if ip.IsLoopback() {
			return name, nil
		}
		for _, a := range own {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("rank 0 is to listen at %s, which is %v: no interface of this machine has that address", host, names)
}
