package gpk_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// TestMethodsAreListed: the doc comment of Array names every method once, and no other.
func TestMethodsAreListed(t *testing.T) {
	source, err := os.ReadFile("gpk.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, ok := strings.Cut(string(source), "type Array = ")
	if !ok {
		t.Fatal("gpk.go does not declare Array")
	}
	listed := map[string]int{}
	for _, m := range regexp.MustCompile(`\[Array\.(\w+)\]`).FindAllStringSubmatch(comment, -1) {
		listed[m[1]]++
	}
	array := reflect.TypeFor[*gpk.Array]()
	for i := range array.NumMethod() {
		name := array.Method(i).Name
		if listed[name] != 1 {
			t.Errorf("the doc comment names %s %d times", name, listed[name])
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("the doc comment names %s, which is no method", name)
	}
}
