package check_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// silent returns what an expression compares with 0 although it is of rates, so that it is missing where none was ever counted.
func silent(expr parser.Expr) (found string) {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		compared, ok := n.(*parser.BinaryExpr)
		if !ok || compared.Op != parser.EQLC {
			return nil
		}
		if zero, ok := compared.RHS.(*parser.NumberLiteral); !ok || zero.Val != 0 {
			return nil
		}
		if s := compared.LHS.String(); strings.Contains(s, "rate(") && !strings.Contains(s, "or vector(0)") {
			found = s
		}
		return nil
	})
	return found
}

// The alerts and all expressions of the dashboard are ones that Prometheus understands.
func TestExpressions(t *testing.T) {
	t.Parallel()
	promql := parser.NewParser(parser.Options{})
	raw, err := os.ReadFile(filepath.Join("..", "dashboards", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	groups, problems := rulefmt.Parse(raw, false, model.UTF8Validation, promql, slog.New(slog.DiscardHandler))
	for _, p := range problems {
		t.Error(p)
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if expr, err := promql.ParseExpr(r.Expr); err != nil {
				t.Error(err)
			} else if sum := silent(expr); sum != "" {
				t.Errorf("%s does not fire where nothing was counted yet, since %s is nothing then and not 0", r.Alert, sum)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s says too little", r.Alert)
			}
		}
	}
	raw, err = os.ReadFile(filepath.Join("..", "dashboards", "wayfarer.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			n++
			if _, err := promql.ParseExpr(strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")); err != nil {
				t.Errorf("%s: %v", target.Expr, err)
			}
		}
	}
	if n == 0 {
		t.Error("the dashboard shows nothing")
	}
}
