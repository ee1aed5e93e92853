package dist

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Ports derived from a job's name are below those that systems assign automatically (32768 and up on
// Linux). Several are tried in a fixed order, because another program may use one of them.
const (
	firstPort  = 20000
	portCount  = 12000
	candidates = 4
)

// addresses returns the possible addresses of rank 0, in the order in which they are tried.
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

// token returns the secret of the job: GPK_TOKEN if it is set, otherwise the data that all ranks
// know.
func (p place) token(secret string) []byte {
	sum := sha256.Sum256([]byte("token/" + secret + "/" + p.job))
	return sum[:]
}

// listenAddresses returns the addresses at which rank 0 listens, given those at which the others try
// to reach it. They are addresses of these hosts only, not of every interface.
func listenAddresses(ctx context.Context, addresses []string) ([]string, error) {
	var out []string
	for _, a := range addresses {
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			return nil, err
		}
		ip, err := ownIP(ctx, host)
		if err != nil {
			return nil, err
		}
		out = append(out, net.JoinHostPort(ip, port))
	}
	return out, nil
}

// dialAddresses returns the addresses at which another rank tries to reach rank 0. If a host is a
// name of this machine that resolves to a loopback address, rank 0 listens at another address, which
// replaces it.
func dialAddresses(ctx context.Context, addresses []string) []string {
	out := slices.Clone(addresses)
	for _, a := range addresses {
		own, err := listenAddresses(ctx, []string{a})
		if err != nil {
			continue // rank 0 is on another machine
		}
		host, _, _ := net.SplitHostPort(own[0])
		if !net.ParseIP(host).IsLoopback() && !slices.Contains(out, own[0]) {
			out = append(out, own[0])
		}
	}
	return out
}

// ownIP returns the address of an interface of this machine that has the name host.
func ownIP(ctx context.Context, host string) (string, error) {
	names, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	if ip := chooseIP(host, names, own); ip != "" {
		return ip, nil
	}
	return "", fmt.Errorf("rank 0 is to listen at %s, which is %v: no interface of this machine has that address", host, names)
}

// chooseIP chooses among the addresses that host resolves to and those of the interfaces; "" if there
// is none. Debian gives a machine's own name the address 127.0.1.1, which other machines cannot
// reach. So a loopback address is chosen only if host names one, or if the machine has no other
// address.
func chooseIP(host string, names []string, own []net.Addr) string {
	loopback := ""
	for _, name := range names {
		ip := net.ParseIP(name)
		if ip.IsLoopback() {
			if loopback == "" {
				loopback = name
			}
			continue
		}
		for _, a := range own {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
				return name
			}
		}
	}
	if loopback == "" || net.ParseIP(host).IsLoopback() || strings.Contains(host, "localhost") {
		return loopback
	}
	if ip := firstOuter(own); ip != "" {
		return ip
	}
	return loopback
}

// firstOuter returns the first address of an interface that other machines may reach, or "".
func firstOuter(own []net.Addr) string {
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return ""
}
