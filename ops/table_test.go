package ops_test

import (
	"strings"
	"testing"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// TestTable checks that every operation of package expr has one row with at least one
// type, and that every row has a name.
func TestTable(t *testing.T) {
	rows := map[expr.Op]int{}
	for _, r := range ops.Table {
		rows[r.Op]++
		if len(r.Types) == 0 || r.Result == nil || r.Doc == "" || strings.HasPrefix(r.Op.String(), "Op(") {
			t.Errorf("%v lacks something: %+v", r.Op, r)
		}
		if ops.Lookup(r.Op) == nil {
			t.Errorf("%v is not found", r.Op)
		}
	}
	for op := expr.Op(1); op < 256; op++ {
		if named := !strings.HasPrefix(op.String(), "Op("); named != (rows[op] == 1) {
			t.Errorf("%v has %d rows", op, rows[op])
		}
	}
}
