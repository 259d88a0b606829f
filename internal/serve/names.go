package serve

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc/resolver"
)

const (
	// lookEvery is how often a name is looked up at most: when a connection was lost, and while it has no address.
	lookEvery = 2 * time.Second
	// lookTime is how long a look may take.
	lookTime = 10 * time.Second
)

// Names of servers are looked up by us in all of the process, those of Temporal and of the collector too. gRPC by itself
// looks up to two minutes later the next time after it found nothing, which is what a name has in a cluster while none of the
// pods behind it is ready, and half a minute later after it found something, although that may just have been replaced.
func init() { resolver.Register(names{resolver.Get("dns"), net.DefaultResolver.LookupHost}) }

// names makes resolvers of the scheme dns.
type names struct {
	resolver.Builder // for addresses, which need no look, and for DNS servers named in the target
	lookup           func(ctx context.Context, host string) ([]string, error)
}

// Build implements resolver.Builder.
func (n names) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	host, port, err := net.SplitHostPort(target.Endpoint())
	if _, literal := netip.ParseAddr(host); err != nil || host == "" || port == "" || literal == nil || target.URL.Host != "" {
		return n.Builder.Build(target, cc, opts)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &name{host: host, port: port, lookup: n.lookup, cc: cc, again: make(chan struct{}, 1), cancel: cancel}
	r.running.Go(func() { r.run(ctx) })
	return r, nil
}

// name follows the addresses of a host.
type name struct {
	host, port string
	lookup     func(ctx context.Context, host string) ([]string, error)
	cc         resolver.ClientConn
	again      chan struct{}
	cancel     context.CancelFunc
	running    sync.WaitGroup
}

// ResolveNow implements resolver.Resolver: a connection was lost.
func (r *name) ResolveNow(resolver.ResolveNowOptions) {
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// Close implements resolver.Resolver.
func (r *name) Close() {
	r.cancel()
	r.running.Wait()
}

func (r *name) run(ctx context.Context) {
	for {
		pause := time.NewTimer(lookEvery)
		if found := r.look(ctx); found {
			select {
			case <-ctx.Done():
			case <-r.again:
			}
		}
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// look tells gRPC of the addresses as they are now, and whether these are any good. A name that nobody knows has none; what
// was known goes on where nobody could be asked.
func (r *name) look(ctx context.Context) bool {
	within, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	found, err := r.lookup(within, r.host)
	var dns *net.DNSError
	if err != nil && (!errors.As(err, &dns) || !dns.IsNotFound) {
		if ctx.Err() == nil {
			r.cc.ReportError(err)
		}
		return false
	}
	var state resolver.State
	for _, ip := range found {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: net.JoinHostPort(ip, r.port)}}})
	}
	return r.cc.UpdateState(state) == nil
}
