// Package check_test holds the chart to what a cluster would say of it: each set of values renders, every object decodes
// strictly, and every pod passes the "restricted" Pod Security Standard.
package check_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the snapshot anew")

var programs = []string{"dice", "party", "dungeon", "travel", "expedition", "gateway"}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(filepath.Join("..", "helm", "wayfarer"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	v := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func valuesFile(t *testing.T, name string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "helm", "wayfarer", "ci", name+"-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return values(t, string(raw))
}

// render returns the rendered files by name.
func render(c *chart.Chart, v map[string]any) (map[string]string, error) {
	all, err := util.ToRenderValues(c, v, common.ReleaseOptions{
		Name: "wayfarer", Namespace: "games", Revision: 1, IsInstall: true,
	}, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// ofOthers are the kinds that come from outside Kubernetes itself, so that no strict decoder for them is at hand.
var ofOthers = map[string]bool{"GRPCRoute": true, "Certificate": true, "ServiceMonitor": true}

// objects decodes everything that was rendered, strictly.
func objects(t *testing.T, files map[string]string) []runtime.Object {
	t.Helper()
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var out []runtime.Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for doc := range strings.SplitSeq("\n"+files[name], "\n---") {
			if strings.TrimSpace(doc) == "" {
				continue
			}
			var loose unstructured.Unstructured
			if err := yaml.UnmarshalStrict([]byte(doc), &loose.Object); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, doc)
			}
			if len(loose.Object) == 0 { // comments alone
				continue
			}
			if ofOthers[loose.GetKind()] {
				if loose.GetName() == "" || loose.Object["spec"] == nil {
					t.Errorf("%s: a %s without name or spec", name, loose.GetKind())
				}
				out = append(out, &loose)
				continue
			}
			o, _, err := strict.Decode([]byte(doc), nil, nil)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, doc)
				continue
			}
			out = append(out, o)
		}
	}
	return out
}

func rendered(t *testing.T, v map[string]any) []runtime.Object {
	t.Helper()
	files, err := render(load(t), v)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, files)
}

func of[T runtime.Object](all []runtime.Object) (out []T) {
	for _, o := range all {
		if o, ok := o.(T); ok {
			out = append(out, o)
		}
	}
	return out
}

func TestLint(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"minimal", "production"} {
		linted := lint.RunAll(filepath.Join("..", "helm", "wayfarer"), valuesFile(t, name), "games")
		for _, m := range linted.Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

func TestWhatIsRendered(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string]map[string]int{
		"minimal": {"Deployment": 6, "Service": 6, "ServiceAccount": 6, "PodDisruptionBudget": 6, "NetworkPolicy": 6, "Pod": 1},
		"production": {
			"Deployment": 6, "Service": 6, "ServiceAccount": 6, "PodDisruptionBudget": 6, "NetworkPolicy": 6, "Pod": 1,
			"HorizontalPodAutoscaler": 6, "Ingress": 1, "GRPCRoute": 1, "Certificate": 6, "ServiceMonitor": 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]int{}
			for _, o := range rendered(t, valuesFile(t, name)) {
				got[o.GetObjectKind().GroupVersionKind().Kind]++
			}
			if !maps.Equal(got, kinds) {
				t.Errorf("got %v, want %v", got, kinds)
			}
		})
	}
}

// Every pod, the test's included, passes the strictest standard of all versions.
func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	verdict := func(name string, meta *corev1.Pod) []string {
		var found []string
		for _, r := range judge.EvaluatePod(restricted, &meta.ObjectMeta, &meta.Spec) {
			if !r.Allowed {
				found = append(found, fmt.Sprintf("%s: %s: %s", name, r.ForbiddenReason, r.ForbiddenDetail))
			}
		}
		return found
	}
	for _, name := range []string{"minimal", "production"} {
		all := rendered(t, valuesFile(t, name))
		pods := of[*corev1.Pod](all)
		for _, d := range of[*appsv1.Deployment](all) {
			pods = append(pods, &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec})
		}
		if len(pods) != len(programs)+1 {
			t.Fatalf("%s: %d pods", name, len(pods))
		}
		for _, p := range pods {
			for _, finding := range verdict(p.Name, p) {
				t.Errorf("%s: %s", name, finding)
			}
		}
		// The judge is awake.
		pods[0].Spec.Containers[0].SecurityContext.Capabilities = nil
		if len(verdict("", pods[0])) == 0 {
			t.Error("a pod that keeps its capabilities passes")
		}
	}
}

func TestDeployments(t *testing.T) {
	t.Parallel()
	all := rendered(t, valuesFile(t, "production"))
	accounts := map[string]bool{}
	for _, a := range of[*corev1.ServiceAccount](all) {
		if a.AutomountServiceAccountToken == nil || *a.AutomountServiceAccountToken {
			t.Errorf("%s mounts a token", a.Name)
		}
		accounts[a.Name] = true
	}
	services := map[string]*corev1.Service{}
	for _, s := range of[*corev1.Service](all) {
		services[s.Name] = s
	}
	for _, d := range of[*appsv1.Deployment](all) {
		pod, c := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
		switch {
		case c.StartupProbe == nil, c.LivenessProbe == nil, c.ReadinessProbe == nil:
			t.Errorf("%s lacks a probe", d.Name)
		case c.LivenessProbe.HTTPGet.Path != "/healthz":
			t.Errorf("%s is restarted when its store is away", d.Name)
		case (c.ReadinessProbe.HTTPGet.Path == "/readyz") == (d.Name == "wayfarer-gateway"):
			t.Errorf("%s is ready by %s: a service when its store answers, the edge without any one of them", d.Name, c.ReadinessProbe.HTTPGet.Path)
		case c.Resources.Requests.Cpu().IsZero(), c.Resources.Limits.Memory().IsZero():
			t.Errorf("%s has no resources", d.Name)
		case !accounts[pod.ServiceAccountName], len(pod.TopologySpreadConstraints) != 2:
			t.Errorf("%s: account %q, %d spread constraints", d.Name, pod.ServiceAccountName, len(pod.TopologySpreadConstraints))
		case d.Spec.Replicas != nil:
			t.Errorf("%s fights its autoscaler over the number of replicas", d.Name)
		}
		for _, e := range c.Env {
			if secret := strings.Contains(e.Name, "SECRET") || strings.Contains(e.Name, "URI") || strings.Contains(e.Name, "PAYLOAD_KEY"); secret && (e.Value != "" || e.ValueFrom == nil) {
				t.Errorf("%s has %s in the clear", d.Name, e.Name)
			}
			if !strings.HasSuffix(e.Name, "_ADDR") || e.Name == "WAYFARER_TEMPORAL_ADDR" {
				continue
			}
			host, port, _ := strings.Cut(strings.TrimPrefix(e.Value, "dns:///"), ":")
			if s := services[host]; s == nil || fmt.Sprint(s.Spec.Ports[0].Port) != port {
				t.Errorf("%s calls %s, which no service serves", d.Name, e.Value)
			}
		}
		// What a service selects are these pods.
		s := services[d.Name]
		for k, v := range s.Spec.Selector {
			if d.Spec.Template.Labels[k] != v {
				t.Errorf("%s: its service selects %s=%s", d.Name, k, v)
			}
		}
	}
}

// Every program has its probes and metrics on a port of their own, and limits; by address only where the proxies are known.
func TestLimitsAndProbes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]string{
		"minimal":    {"WAYFARER_LIMIT_PRINCIPAL_RATE": "100", "WAYFARER_LIMIT_ADDRESS_RATE": "0", "WAYFARER_LIMIT_ADDRESS_CONNECTIONS": "0", "WAYFARER_LIMIT_CONNECTIONS": "10000", "WAYFARER_TRUSTED_PROXIES": "", "WAYFARER_EDGE_TLS_CERT": ""},
		"production": {"WAYFARER_LIMIT_PRINCIPAL_RATE": "100", "WAYFARER_LIMIT_ADDRESS_RATE": "500", "WAYFARER_LIMIT_ADDRESS_CONNECTIONS": "500", "WAYFARER_LIMIT_CONNECTIONS": "10000", "WAYFARER_TRUSTED_PROXIES": "10.0.0.0/8", "WAYFARER_EDGE_TLS_CERT": "/edge-tls/tls.crt"},
	} {
		all := rendered(t, valuesFile(t, name))
		for _, d := range of[*appsv1.Deployment](all) {
			edge, c, env := strings.HasSuffix(d.Name, "-gateway"), d.Spec.Template.Spec.Containers[0], map[string]string{}
			for _, e := range c.Env {
				env[e.Name] = e.Value
			}
			for key, value := range want {
				if key == "WAYFARER_EDGE_TLS_CERT" && !edge {
					value = ""
				}
				if env[key] != value {
					t.Errorf("%s: %s has %s=%q, want %q", name, d.Name, key, env[key], value)
				}
			}
			streams := "200"
			if edge && name == "minimal" {
				streams = "0"
			}
			if env["WAYFARER_LIMIT_STREAMS"] != streams {
				t.Errorf("%s: %s may have %s streams, want %s", name, d.Name, env["WAYFARER_LIMIT_STREAMS"], streams)
			}
			for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if p.HTTPGet.Port.String() != "metrics" || p.HTTPGet.Scheme == corev1.URISchemeHTTPS {
					t.Errorf("%s: %s is probed at %v", name, d.Name, p.HTTPGet)
				}
			}
		}
		for _, s := range of[*corev1.Service](all) {
			ports := map[string]corev1.ServicePort{}
			for _, p := range s.Spec.Ports {
				ports[p.Name] = p
			}
			if ports["metrics"].Port != 9464 {
				t.Errorf("%s: %s has no port for metrics", name, s.Name)
			}
			if p, ok := ports["http"]; ok && *p.AppProtocol != map[string]string{"minimal": "http", "production": "https"}[name] {
				t.Errorf("%s: REST is served as %s", name, *p.AppProtocol)
			}
		}
		scraped := 0
		for _, np := range of[*networkingv1.NetworkPolicy](all) {
			for _, rule := range np.Spec.Ingress {
				if rule.Ports[0].Port.String() == "metrics" && rule.From[0].NamespaceSelector != nil {
					scraped++
				}
			}
		}
		if scraped != map[string]int{"minimal": 0, "production": len(programs)}[name] {
			t.Errorf("%s: metrics of %d programs can be read", name, scraped)
		}
	}
}

// Workers tell Temporal of their build when the values name a deployment, and only then; other programs have no say.
func TestBuilds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ temporal, want string }{
		"none by default":             {`{}`, ""},
		"a build without one is none": {`{buildID: v7}`, ""},
		"the program's version":       {`{deployment: wayfarer}`, "WAYFARER_DEPLOYMENT=wayfarer"},
		"a build of its own":          {`{deployment: wayfarer, buildID: v7}`, "WAYFARER_DEPLOYMENT=wayfarer WAYFARER_BUILD_ID=v7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := valuesFile(t, "minimal")
			v["temporal"] = values(t, row.temporal)
			for _, d := range of[*appsv1.Deployment](rendered(t, v)) {
				var got []string
				for _, e := range d.Spec.Template.Spec.Containers[0].Env {
					if e.Name == "WAYFARER_DEPLOYMENT" || e.Name == "WAYFARER_BUILD_ID" {
						got = append(got, e.Name+"="+e.Value)
					}
				}
				want := row.want
				if !strings.HasSuffix(d.Name, "-expedition") {
					want = ""
				}
				if s := strings.Join(got, " "); s != want {
					t.Errorf("%s has %q, want %q", d.Name, s, want)
				}
			}
		})
	}
}

// A call that the addresses of a program ask for is let out by it and in by the other side; no other is.
func TestNetworkPoliciesLetThroughWhatIsCalled(t *testing.T) {
	t.Parallel()
	all := rendered(t, valuesFile(t, "production"))
	const component = "app.kubernetes.io/component"
	in, out := map[string]bool{}, map[string]bool{}
	for _, np := range of[*networkingv1.NetworkPolicy](all) {
		me := np.Spec.PodSelector.MatchLabels[component]
		if len(np.Spec.PolicyTypes) != 2 {
			t.Errorf("%s is open one way", np.Name)
		}
		for _, rule := range np.Spec.Ingress {
			for _, from := range rule.From {
				if from.PodSelector != nil && from.NamespaceSelector == nil {
					in[from.PodSelector.MatchLabels[component]+" > "+me] = true
				}
			}
		}
		for _, rule := range np.Spec.Egress {
			for _, to := range rule.To {
				if to.PodSelector != nil && to.NamespaceSelector == nil {
					out[me+" > "+to.PodSelector.MatchLabels[component]] = true
				}
			}
		}
	}
	delete(in, "test > gateway")
	if !maps.Equal(in, out) {
		t.Errorf("let in %v, let out %v", slices.Sorted(maps.Keys(in)), slices.Sorted(maps.Keys(out)))
	}
	asked := map[string]bool{}
	for _, d := range of[*appsv1.Deployment](all) {
		me := d.Spec.Template.Labels[component]
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			other := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(e.Name, "WAYFARER_"), "_ADDR"))
			if slices.Contains(programs, other) && strings.HasSuffix(e.Name, "_ADDR") {
				asked[me+" > "+other] = true
			}
		}
	}
	if !maps.Equal(asked, out) {
		t.Errorf("has the addresses for %v, let out %v", slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(out)))
	}
}

func TestBadValuesAreNamed(t *testing.T) {
	t.Parallel()
	c := load(t)
	for name, tt := range map[string]struct{ values, want string }{
		"nothing at all":              {``, "auth.issuer, auth.jwksURL, auth.tokenURL"},
		"a key that there is not":     {`replicaCount: 3`, "replicaCount"},
		"a misspelt one":              {`mongodb: {secretname: x}`, "secretname"},
		"a program that there is not": {`programs: {bard: {}}`, "bard"},
		"a number that is text":       {`defaults: {replicas: "three"}`, "replicas"},
		"text that is a number":       {`logLevel: 3`, "logLevel"},
		"a level of one's own":        {`logLevel: LOUD`, "logLevel"},
		"no url":                      {`auth: {jwksURL: "id.example.org"}`, "jwksURL"},
		"no duration":                 {`grace: soon`, "grace"},
		"no address":                  {`temporal: {address: "http://temporal"}`, "address"},
		"a deployment with a dot":     {`temporal: {deployment: "wayfarer.games"}`, "deployment"},
		"a ratio above 1":             {`telemetry: {traceRatio: 2}`, "traceRatio"},
		"half a stream":               {`limits: {streams: 0.5}`, "streams"},
		"a proxy that is no net":      {`limits: {trustedProxies: [proxy]}`, "trustedProxies"},
		"a port beyond the last":      {`gateway: {service: {port: 70000}}`, "port"},
		"certificates without use": {`{auth: {issuer: a, jwksURL: "https://b", tokenURL: "https://c"}, tls: {certManager: {enabled: true, issuerRef: {name: x}}}}`,
			"tls.enabled"},
		"certificates of nobody": {`{auth: {issuer: a, jwksURL: "https://b", tokenURL: "https://c"}, tls: {enabled: true, certManager: {enabled: true}}}`,
			"tls.certManager.issuerRef.name"},
		"an ingress without host":  {`{auth: {issuer: a, jwksURL: "https://b", tokenURL: "https://c"}, ingress: {enabled: true}}`, "ingress.host"},
		"a route without a parent": {`{auth: {issuer: a, jwksURL: "https://b", tokenURL: "https://c"}, grpcRoute: {enabled: true}}`, "grpcRoute.parentRefs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := render(c, values(t, tt.values)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something of %s", err, tt.want)
			}
		})
	}
}

// What the chart makes by default is under review: a change shows here. `go test -update` takes it over.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	files, err := render(load(t), valuesFile(t, "minimal"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text := strings.TrimSpace(files[name]); text != "" {
			fmt.Fprintf(&b, "# %s\n%s\n", name, text)
		}
	}
	path := filepath.Join("testdata", "minimal.yaml")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the rendered chart differs from %s: look at it, then run go test -update", path)
	}
}

// What is said of one program goes before what is said of all, also where it switches something off.
func TestAProgramsOwnBlockGoesFirst(t *testing.T) {
	t.Parallel()
	v := valuesFile(t, "production")
	v["programs"] = values(t, `
dice: {autoscaling: {enabled: false}, replicas: 0, pdb: {enabled: false}, resources: {limits: {memory: 1Gi}}}
party: {pdb: {maxUnavailable: 0}}
`)
	all := rendered(t, v)
	for _, o := range of[*policyv1.PodDisruptionBudget](all) {
		switch {
		case o.Name == "wayfarer-dice":
			t.Error("dice has a disruption budget")
		case o.Name == "wayfarer-party" && o.Spec.MaxUnavailable.IntValue() != 0:
			t.Errorf("of party %v may be away", o.Spec.MaxUnavailable)
		}
	}
	for _, o := range of[*autoscalingv2.HorizontalPodAutoscaler](all) {
		if o.Name == "wayfarer-dice" {
			t.Error("dice is scaled")
		}
	}
	for _, d := range of[*appsv1.Deployment](all) {
		if d.Name != "wayfarer-dice" {
			continue
		}
		if d.Spec.Replicas == nil || *d.Spec.Replicas != 0 {
			t.Errorf("dice has %v replicas", d.Spec.Replicas)
		}
		if r := d.Spec.Template.Spec.Containers[0].Resources; r.Limits.Memory().String() != "1Gi" || r.Requests.Cpu().IsZero() {
			t.Errorf("dice has %v", r)
		}
	}
}

// A pod that is told to stop is given all the time that its program takes, and goes on serving until nobody is sent to it any more.
func TestPodsAreGivenTheTimeToStop(t *testing.T) {
	t.Parallel()
	for grace, least := range map[string]int64{"20s": 60, "2m": 360, "1m30s": 270, "500ms": 1} {
		v := valuesFile(t, "minimal")
		v["grace"] = grace
		for _, d := range of[*appsv1.Deployment](rendered(t, v)) {
			pod := d.Spec.Template.Spec
			before := int64(0)
			if hook := pod.Containers[0].Lifecycle; hook != nil && hook.PreStop != nil && hook.PreStop.Sleep != nil {
				before = hook.PreStop.Sleep.Seconds
			}
			if before < 5 {
				t.Errorf("%s stops at once, while others still know its address", d.Name)
			}
			// The drain, the worker and the telemetry may each take the grace.
			if got := *pod.TerminationGracePeriodSeconds; got < least+before || got > least+before+30 {
				t.Errorf("with a grace of %s %s is killed after %d s", grace, d.Name, got)
			}
		}
	}
}

// What a port is said to speak is what its program speaks there: a gateway in front that trusts the word would talk past it.
func TestPortsSpeakWhatTheySay(t *testing.T) {
	t.Parallel()
	for name, h2c := range map[string]bool{"minimal": true, "production": false} {
		for _, s := range of[*corev1.Service](rendered(t, valuesFile(t, name))) {
			for _, p := range s.Spec.Ports {
				if p.Name != "grpc" && p.Name != "console" {
					continue
				}
				if said := p.AppProtocol != nil && *p.AppProtocol == "kubernetes.io/h2c"; said != h2c {
					t.Errorf("%s: port %s of %s is said to be without TLS: %v", name, p.Name, s.Name, said)
				}
			}
		}
	}
}

// The edge is reached from where its service is: from pods, or, by a load balancer or a node's port, from anywhere.
func TestTheEdgeIsReachedFromWhereItsServiceIs(t *testing.T) {
	t.Parallel()
	for kind, row := range map[string]struct{ from, want string }{
		"ClusterIP":    {"[]", "pods"},
		"LoadBalancer": {"[]", "anywhere"},
		"NodePort":     {"[]", "anywhere"},
	} {
		for _, narrow := range []bool{false, true} {
			v, want := valuesFile(t, "minimal"), row.want
			v["gateway"] = values(t, "service: {type: "+kind+"}")
			if narrow {
				v["networkPolicy"], want = values(t, "ingressFrom: [{ipBlock: {cidr: 192.0.2.0/24}}]"), "a net"
			}
			seen := 0
			for _, np := range of[*networkingv1.NetworkPolicy](rendered(t, v)) {
				for _, rule := range np.Spec.Ingress {
					if rule.Ports[0].Port.String() != "http" {
						continue
					}
					seen++
					got := "anywhere"
					switch {
					case len(rule.From) == 1 && rule.From[0].IPBlock != nil:
						got = "a net"
					case len(rule.From) == 1 && rule.From[0].NamespaceSelector != nil:
						got = "pods"
					}
					if got != want {
						t.Errorf("%s, narrow %v: let in from %s, not %s", kind, narrow, got, want)
					}
				}
			}
			if seen != 1 {
				t.Errorf("%s: %d rules for REST", kind, seen)
			}
		}
	}
}

// Metrics come under the job by which the alerts and the dashboard know the programs, whatever the services are called.
func TestMetricsHaveTheJobOfTheAlerts(t *testing.T) {
	t.Parallel()
	alerts, err := os.ReadFile(filepath.Join("..", "dashboards", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dashboard, err := os.ReadFile(filepath.Join("..", "dashboards", "wayfarer.json"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`job=\\?"([^"\\]*)`).FindAllStringSubmatch(string(alerts)+string(dashboard), -1)
	if len(named) == 0 {
		t.Fatal("no expression names a job")
	}
	all := rendered(t, valuesFile(t, "production"))
	for _, o := range of[*unstructured.Unstructured](all) {
		if o.GetKind() != "ServiceMonitor" {
			continue
		}
		label, _, err := unstructured.NestedString(o.Object, "spec", "jobLabel")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range of[*corev1.Service](all) {
			job := s.Labels[label]
			if job == "" {
				job = s.Name // as the operator has it
			}
			for _, m := range named {
				if m[1] != job {
					t.Errorf("%s is scraped as the job %q, and an expression asks for %q", s.Name, job, m[1])
				}
			}
		}
	}
}

// The notes tell what is left to do, and only where it is.
func TestTheNotesTellWhatIsLeft(t *testing.T) {
	t.Parallel()
	c := load(t)
	for name, row := range map[string]struct{ values, want string }{
		"Prometheus is let in nowhere":             {`{telemetry: {serviceMonitor: {enabled: true}}}`, "networkPolicy.metricsFrom"},
		"a route to services that ask for clients": {`{tls: {enabled: true}, grpcRoute: {enabled: true, parentRefs: [{name: outside}]}}`, "BackendTLSPolicy"},
		"certificates of one's own":                {`{tls: {enabled: true}}`, "ca.crt for each program"},
	} {
		for _, there := range []bool{true, false} {
			v := valuesFile(t, "minimal")
			if there {
				maps.Copy(v, values(t, row.values))
			}
			files, err := render(c, v)
			if err != nil {
				t.Fatal(err)
			}
			if notes := files["wayfarer/templates/NOTES.txt"]; strings.Contains(notes, row.want) != there {
				t.Errorf("%s, %v: %s", name, there, notes)
			}
		}
	}
}
