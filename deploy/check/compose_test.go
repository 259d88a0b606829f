package check_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"sigs.k8s.io/yaml"
)

func composed(t *testing.T) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{filepath.Join("..", "compose", "compose.yaml")}, cli.WithName("wayfarer"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The file follows the specification, and whatever it names is there.
func TestCompose(t *testing.T) {
	t.Parallel()
	p := composed(t)
	for _, name := range append([]string{"mongo", "temporal", "issuer", "collector", "prometheus", "grafana"}, programs...) {
		if _, ok := p.Services[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
	target := regexp.MustCompile(`^(?:dns:///|https?://|mongodb://)?([a-z]+):([0-9]+)`)
	for name, s := range p.Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to everybody", name, port.Published)
			}
		}
		for _, c := range s.Configs {
			if file := p.Configs[c.Source].File; file == "" {
				t.Errorf("%s: no config %s", name, c.Source)
			} else if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !slices.Contains(programs, name) {
			continue
		}
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") {
			t.Errorf("%s may write or has capabilities", name)
		}
		for key, value := range s.Environment {
			if value == nil {
				continue
			}
			if m := target.FindStringSubmatch(*value); m != nil {
				if _, ok := p.Services[m[1]]; !ok {
					t.Errorf("%s: %s names %s, which is no service", name, key, m[1])
				}
			}
		}
	}
	raw, err := os.ReadFile(filepath.Join("..", "compose", "prometheus.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if !strings.Contains(string(raw), name+":9464") {
			t.Errorf("Prometheus does not scrape %s", name)
		}
	}
	for _, file := range []string{"prometheus.yaml", "collector.yaml", "datasource.yaml", "dashboards.yaml"} {
		raw, err := os.ReadFile(filepath.Join("..", "compose", file))
		if err != nil {
			t.Fatal(err)
		}
		var any map[string]any
		if err := yaml.UnmarshalStrict(raw, &any); err != nil || len(any) == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}
