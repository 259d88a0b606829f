// Command temporaldev runs a Temporal server, all four of its services and the web UI, in one process on one SQLite file:
// for play on one machine, for development and for tests. Production uses a cluster of its own.
//
// Once clients can be served it prints one line of JSON to standard output, {"frontend": "host:port", "ui": "http://…"},
// and nothing else there. It ends on SIGTERM and SIGINT, and with -with-parent, at once, when its standard input ends: who
// starts it with a pipe there is sure that it does not outlive them, however they die. After such an end, as after
// kill -9, a new start on the same file goes on with every workflow and timer. Only one server works on a file: a second
// one waits some seconds for the first to end, then it gives up.
//
// It is a module of its own because the server needs another version of Temporal's API than the SDK that the house uses.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	tlog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const (
	host = "127.0.0.1"
	// grace is how long the end may take; what is not finished then is found in the file.
	grace = 10 * time.Second
	// patience is how long a start may take: a busy machine is slow and not broken.
	patience = 4 * time.Minute
	// lockWait is how long another server on the same file may take for its end.
	lockWait = grace + 20*time.Second
)

type options struct {
	port, uiPort   int
	db             string
	shards         int
	inFlight       int
	namespaces     []string
	attributes     map[string]enums.IndexedValueType
	level          string
	withParent, ui bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	stdout := os.Stdout
	os.Stdout = os.Stderr // the line of JSON stays alone, whatever the libraries print
	err := run(ctx, os.Args[1:], os.Stdin, stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "temporaldev:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("temporaldev", flag.ContinueOnError)
	flags.IntVar(&o.port, "port", 7233, "gRPC `port` of the frontend; 0 takes a free one")
	flags.IntVar(&o.uiPort, "ui-port", 8233, "`port` of the web UI; 0 takes a free one, -1 leaves the UI out")
	flags.StringVar(&o.db, "db", "", "SQLite `file`; empty keeps everything in memory")
	flags.IntVar(&o.shards, "shards", 4, "history shards, 1 to 64; fixed for the life of a file")
	flags.IntVar(&o.inFlight, "in-flight-updates", 512, "updates that one workflow may have under way")
	namespaces := flags.String("namespaces", "default", "namespaces, comma separated")
	attributes := flags.String("search-attributes", "", "search attributes, as Campaign=Keyword,Day=Int")
	flags.StringVar(&o.level, "log", "error", "log `level`: debug, info, warn, error or fatal")
	flags.BoolVar(&o.withParent, "with-parent", false, "end when standard input ends")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.shards < 1 || o.shards > 64:
		return o, fmt.Errorf("-shards is %d, want 1 to 64", o.shards)
	case o.inFlight < 1:
		return o, fmt.Errorf("-in-flight-updates is %d, want 1 or more", o.inFlight)
	}
	o.ui = o.uiPort >= 0
	for name := range strings.SplitSeq(*namespaces, ",") {
		if name == "" {
			return o, fmt.Errorf("-namespaces is %q, want names", *namespaces)
		}
		o.namespaces = append(o.namespaces, name)
	}
	o.attributes = map[string]enums.IndexedValueType{}
	for pair := range strings.SplitSeq(*attributes, ",") {
		if pair == "" {
			continue
		}
		name, kind, _ := strings.Cut(pair, "=")
		value, err := enums.IndexedValueTypeFromString(kind)
		if err != nil || name == "" {
			return o, fmt.Errorf("-search-attributes: %q is not Name=Type", pair)
		}
		o.attributes[name] = value
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.withParent {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // an error is an end as well
			os.Exit(0)                        // without more ado: the next server may be waiting for the file
		}()
	}
	if o.db != "" {
		if err := os.MkdirAll(filepath.Dir(o.db), 0o750); err != nil {
			return fmt.Errorf("-db: %w", err)
		}
		if err := lock(ctx, o.db, lockWait); err != nil {
			return fmt.Errorf("-db: %w", err)
		}
	}
	if o.port, err = choose("port", o.port); err != nil {
		return err
	}
	if o.ui {
		if o.uiPort, err = choose("ui-port", o.uiPort); err != nil {
			return err
		}
	}
	store, err := openStore(o)
	if err != nil {
		return err
	}
	server, err := newServer(o, store)
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer within(grace, func() { _ = server.Stop() })

	failed := make(chan error, 1)
	line := struct {
		Frontend string `json:"frontend"`
		UI       string `json:"ui,omitempty"`
	}{Frontend: address(o.port)}
	if o.ui {
		line.UI = "http://" + address(o.uiPort)
		ui := uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
			Host: host, Port: o.uiPort, TemporalGRPCAddress: line.Frontend, EnableUI: true,
			CORS: uiconfig.CORS{CookieInsecure: true}, HideLogs: true, DisableNewsFetch: true,
		}))
		go func() { failed <- ui.Start() }()
		defer within(grace, ui.Stop)
	}
	if err := awaitReady(ctx, o); err != nil {
		if ctx.Err() != nil {
			return nil // told to end before it was ready
		}
		return err
	}
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		return fmt.Errorf("say that it is ready: %w", err)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return fmt.Errorf("web UI: %w", err)
	}
}

// awaitReady waits until the frontend serves every namespace and the UI answers, and adds the search attributes that a
// file of an earlier version lacks.
func awaitReady(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := grpc.NewClient(address(o.port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the frontend: %w", err)
	}
	defer func() { _ = conn.Close() }()
	health := grpc_health_v1.NewHealthClient(conn)
	err = retry(ctx, func() error {
		answer, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "temporal.api.workflowservice.v1.WorkflowService"})
		if err == nil && answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			err = fmt.Errorf("health is %s", answer.GetStatus())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for the frontend: %w", err)
	}
	operator := operatorservice.NewOperatorServiceClient(conn)
	for _, namespace := range o.namespaces {
		err := retry(ctx, func() error { return addAttributes(ctx, operator, namespace, o.attributes) })
		if err != nil {
			return fmt.Errorf("search attributes of namespace %s: %w", namespace, err)
		}
	}
	if !o.ui {
		return nil
	}
	var dialer net.Dialer
	err = retry(ctx, func() error {
		c, err := dialer.DialContext(ctx, "tcp", address(o.uiPort))
		if err == nil {
			err = c.Close()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for the web UI: %w", err)
	}
	return nil
}

func addAttributes(ctx context.Context, operator operatorservice.OperatorServiceClient, namespace string, want map[string]enums.IndexedValueType) error {
	have, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	missing := map[string]enums.IndexedValueType{}
	for name, kind := range want {
		if had, ok := have.GetCustomAttributes()[name]; !ok {
			missing[name] = kind
		} else if had != kind {
			return fmt.Errorf("%s is %s in this file, not %s", name, had, kind)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	return err
}

// retry calls try until it succeeds or the context ends, and then tells the last reason.
func retry(ctx context.Context, try func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// openStore returns where Temporal keeps its state; a new file gets the schema, a new namespace its row.
func openStore(o options) (*config.SQL, error) {
	store := &config.SQL{PluginName: sqliteplugin.PluginName}
	if o.db == "" {
		// In memory the plugin brings the schema itself.
		store.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
		store.DatabaseName = "temporaldev" + strconv.Itoa(o.port)
	} else {
		if err := createFile(o.db); err != nil {
			return nil, fmt.Errorf("-db: %w", err)
		}
		// WAL lets readers go on beside the writer; full synchronisation keeps what was acknowledged through a power cut.
		store.ConnectAttributes = map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "full"}
		store.DatabaseName = o.db
	}
	rows := make([]*sqliteschema.NamespaceConfig, 0, len(o.namespaces))
	for _, name := range o.namespaces {
		row, err := sqliteschema.NewNamespaceConfig("active", name, false, o.attributes)
		if err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
		rows = append(rows, row)
	}
	if err := sqliteschema.CreateNamespaces(store, rows...); err != nil {
		return nil, fmt.Errorf("create namespaces: %w", err)
	}
	return store, nil
}

// createFile makes the file with its schema under another name first, so that a crash in between leaves no half of one.
func createFile(db string) error {
	if _, err := os.Stat(db); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fresh := db + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	store := &config.SQL{
		PluginName: sqliteplugin.PluginName, DatabaseName: fresh,
		ConnectAttributes: map[string]string{"mode": "rwc", "journal_mode": "delete"},
	}
	if err := sqliteschema.SetupSchema(store); err != nil {
		return err
	}
	return os.Rename(fresh, db)
}

func newServer(o options, store *config.SQL) (temporal.Server, error) {
	ports := make([]int, 4)
	for i := range ports {
		var err error
		if ports[i], err = choose("inner port", 0); err != nil {
			return nil, err
		}
	}
	var conf config.Config
	conf.Global.Membership.MaxJoinDuration = 30 * time.Second
	conf.Global.Membership.BroadcastAddress = host
	conf.Persistence.DefaultStore = "sqlite"
	conf.Persistence.VisibilityStore = "sqlite"
	conf.Persistence.NumHistoryShards = int32(o.shards) //nolint:gosec // at most 64
	conf.Persistence.DataStores = map[string]config.DataStore{"sqlite": {SQL: store}}
	conf.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
		ClusterInformation: map[string]cluster.ClusterInformation{"active": {
			Enabled: true, InitialFailoverVersion: 1, RPCAddress: address(o.port), HTTPAddress: address(ports[0]),
			ClusterID: "00000000-0000-4000-8000-000000000001",
		}},
	}
	conf.DCRedirectionPolicy.Policy = "noop"
	service := func(port, httpPort int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: host, HTTPPort: httpPort}}
	}
	conf.Services = map[string]config.Service{
		"frontend": service(o.port, ports[0]), "history": service(ports[1], 0),
		"matching": service(ports[2], 0), "worker": service(ports[3], 0),
	}
	conf.Archival.History.State = "disabled"
	conf.Archival.Visibility.State = "disabled"
	conf.NamespaceDefaults.Archival.History.State = "disabled"
	conf.NamespaceDefaults.Archival.Visibility.State = "disabled"
	conf.PublicClient.HostPort = address(o.port)

	logger := tlog.NewZapLogger(tlog.BuildZapLogger(tlog.Config{Level: o.level}))
	authorizer, err := authorization.GetAuthorizerFromConfig(&conf.Global.Authorization)
	if err != nil {
		return nil, fmt.Errorf("authorizer: %w", err)
	}
	claims, err := authorization.GetClaimMapperFromConfig(&conf.Global.Authorization, logger)
	if err != nil {
		return nil, fmt.Errorf("claim mapper: %w", err)
	}
	one := func(name string) static.Hosts {
		return static.SingleLocalHost(address(conf.Services[name].RPC.GRPCPort))
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(&conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(map[primitives.ServiceName]static.Hosts{
			primitives.FrontendService: one("frontend"), primitives.MatchingService: one("matching"),
			primitives.HistoryService: one("history"), primitives.WorkerService: one("worker"),
		}),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                 8096,
			dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
			// A new search attribute can be used at once.
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
			// The default of 10 is what bounds a workflow that many callers update.
			dynamicconfig.WorkflowExecutionMaxInFlightUpdates.Key(): o.inFlight,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("configure the server: %w", err)
	}
	return server, nil
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// choose returns the port when it is free, or a free one for 0. The port is kept for the server, where the system lets it; elsewhere
// somebody else may take it before the server does, and then the server fails to start.
func choose(what string, port int) (int, error) {
	kept, end := keep(port)
	if l, err := net.Listen("tcp", address(kept)); err == nil {
		return l.Addr().(*net.TCPAddr).Port, l.Close()
	}
	end()
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return 0, fmt.Errorf("-%s: %w", what, err)
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// within calls end and waits for it no longer than d.
func within(d time.Duration, end func()) {
	done := make(chan struct{})
	go func() { end(); close(done) }()
	select {
	case <-done:
	case <-time.After(d):
	}
}
