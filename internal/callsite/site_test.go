package callsite_test

import (
	"fmt"
	"strings"
	"testing"
	"text/template"

	"github.com/gpk-go/gpk/internal/callsite"
)

// TestHereBound checks that the walk ends with the goroutine's stack and leaves the rest of
// the Site 0.
func TestHereBound(t *testing.T) {
	var s callsite.Site
	done := make(chan struct{})
	go func() {
		defer close(done)
		s = callsite.Here()
	}()
	<-done
	if s[0] == 0 || s[len(s)-1] != 0 {
		t.Errorf("%x: not the two or three frames of a goroutine's first function", s)
	}
}

// TestOutside checks that Outside skips the frames of the given packages.
func TestOutside(t *testing.T) {
	var s callsite.Site
	want := line()
	_ = strings.Map(func(r rune) rune { s = callsite.Here(); return r }, "x")
	if got := s.String(); got != next(want) {
		t.Errorf("String is %s, want %s", got, next(want))
	}
	// Without the function above, the first frame is that of strings.Map.
	copy(s[:], s[1:])
	for path, want := range map[string]string{"strings": next(want), "string": s.String()} {
		if got := s.Outside("fmt", path); got != want {
			t.Errorf("outside %s: %s, want %s", path, got, want)
		}
	}
	if got := s.String(); !strings.HasPrefix(got, "strings/strings.go:") {
		t.Errorf("String is %s, want a line of package strings", got)
	}
	if got := (callsite.Site{}).Outside("strings"); got != "" {
		t.Errorf("the zero Site is at %s", got)
	}
}

// next returns the line after at.
func next(at string) string {
	file, text, _ := strings.Cut(at, ":")
	var n int
	if _, err := fmt.Sscan(text, &n); err != nil {
		panic(err)
	}
	return fmt.Sprint(file, ":", n+1)
}

// TestSearch checks that Search finds frames beyond the length of a Site, and skips those
// of the given packages.
func TestSearch(t *testing.T) {
	var b strings.Builder
	parsed := template.Must(template.New("").Funcs(template.FuncMap{"search": callsite.Search}).
		Parse(`{{if true}}{{if true}}{{(search "text/template" "reflect").Outside "text/template" "reflect"}}{{end}}{{end}}`))
	want := line()
	err := parsed.Execute(&b, nil)
	if got := b.String(); err != nil || got != next(want) {
		t.Errorf("%s, %v, want %s", got, err, next(want))
	}
}

func BenchmarkHere(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		callsite.Here()
	}
}
