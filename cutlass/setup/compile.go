package setup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpk-go/gpk/cutlass"
)

// baseFlags are nvcc's flags for every text.
var baseFlags = []string{
	"-std=c++17", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr", "-Xcompiler=-fPIC,-fvisibility=hidden",
}

// CompileError reports a translation unit that nvcc could not compile.
type CompileError struct {
	Unit   string
	Log    string // the end of nvcc's output
	File   string // the file with all of it
	Reason error
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("compiling %s: %v (all of it: %s)\n%s", e.Unit, e.Reason, e.File, e.Log)
}

func (e *CompileError) Unwrap() error { return e.Reason }

// text is one compiler input: a unit's source, or the registry.
type text struct {
	name      string
	source    string
	companion string
	own       map[string]string // the sources of its companion, by name
	flags     []string          // without include folders, whose content is part of the key
	work      int               // number of kernels, for the order and the progress
	object    string
	cached    bool
	took      time.Duration
}

// compile brings the objects of all units into the cache.
func (b *builder) compile(ctx context.Context, units []cutlass.Unit) ([]UnitResult, error) {
	texts := make([]*text, len(units))
	for i, u := range units {
		texts[i] = &text{name: u.Name, source: u.Source(), companion: u.Companion, own: b.companionSources(u.Companion), flags: unitFlags(u, b.Archs), work: max(1, len(u.Kernels))}
	}
	if err := b.compileAll(ctx, texts); err != nil {
		return nil, err
	}
	results := make([]UnitResult, len(units))
	for i, t := range texts {
		results[i] = UnitResult{Unit: units[i], Object: t.object, Cached: t.cached, Duration: t.took}
	}
	return results, nil
}

// unitFlags are nvcc's flags for a unit. Element-wise operations round after each step
// (-fmad=false), so that fused and unfused chains have the same bits.
func unitFlags(u cutlass.Unit, archs []string) []string {
	flags := slices.Concat(baseFlags, gencode(u.SM, archs))
	if u.Companion == "" && strings.HasPrefix(u.File, "ops") {
		flags = append(flags, "-fmad=false")
	}
	return flags
}

// compileAll compiles the texts that the cache lacks, Jobs at once, the largest first. The
// first failure stops the others.
func (b *builder) compileAll(ctx context.Context, texts []*text) error {
	if err := b.writeSources(); err != nil {
		return err
	}
	var todo []*text
	total, done := 0, 0
	for _, t := range texts {
		t.object = filepath.Join(b.Cache, "objects", b.key(t)+".o")
		info, err := os.Stat(t.object)
		t.cached = err == nil && info.Size() > 0
		total += t.work
		if t.cached {
			done += t.work
			b.progress.say("%-32s cached", t.name)
		} else {
			todo = append(todo, t)
		}
	}
	slices.SortStableFunc(todo, func(x, y *text) int { return cmp.Compare(y.work, x.work) })
	b.progress.begin(total, done)
	defer b.progress.stop()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan *text, len(todo))
	for _, t := range todo {
		queue <- t
	}
	close(queue)
	var wg sync.WaitGroup
	var count sync.Mutex
	n := len(texts) - len(todo)
	for range min(b.Jobs, len(todo)) {
		wg.Go(func() {
			for t := range queue {
				if ctx.Err() != nil {
					return
				}
				if err := b.compileOne(ctx, t); err != nil {
					cancel(err) // later calls have no effect
					return
				}
				count.Lock()
				n++
				b.progress.say("%-32s %6.1f s  (%d of %d)", t.name, t.took.Seconds(), n, len(texts))
				count.Unlock()
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// compileOne compiles a text into the cache.
func (b *builder) compileOne(ctx context.Context, t *text) error {
	b.progress.started(t.name)
	defer b.progress.finished(t.name, t.work)
	start := time.Now()
	source := filepath.Join(b.temp, "units", t.name+".cu")
	if err := os.WriteFile(source, []byte(t.source), 0o600); err != nil {
		return err
	}
	temp := filepath.Join(b.temp, "units", t.name+".o")
	args := slices.Clone(t.flags)
	if t.companion != "" {
		args = append(args, "-I", filepath.Join(b.temp, "companions", t.companion))
	}
	args = append(args,
		"-I", filepath.Join(b.temp, "src"),
		"-I", filepath.Join(b.tools.cutlass, "include"), "-I", filepath.Join(b.tools.cutlass, "tools", "util", "include"),
		"-c", source, "-o", temp,
	)
	cmd := exec.CommandContext(ctx, b.tools.nvcc, args...)
	cmd.Env = b.environment()
	out, err := output(cmd)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return b.compileError(t.name, out, err)
	}
	if err := finish(temp, t.object); err != nil {
		return err
	}
	t.took = time.Since(start)
	return nil
}

// compileError stores the compiler's whole output in the cache's log.
func (b *builder) compileError(name string, out []byte, reason error) error {
	file := filepath.Join(b.Cache, "log", name+".txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, out, 0o600); err != nil {
		return err
	}
	return &CompileError{Unit: name, Log: tail(out), File: file, Reason: reason}
}

// companionSources returns the sources of a companion; nil for "".
func (b *builder) companionSources(name string) map[string]string {
	for _, c := range b.Companions {
		if c.Name == name {
			return c.Sources
		}
	}
	return nil
}

// writeSources writes the embedded folder src, and the sources of each companion, to this
// run's folder.
func (b *builder) writeSources() error {
	if isDir(filepath.Join(b.temp, "units")) {
		return nil
	}
	for _, dir := range []string{"src", "units"} {
		if err := os.MkdirAll(filepath.Join(b.temp, dir), 0o700); err != nil {
			return err
		}
	}
	entries, err := cutlass.Sources.ReadDir("src")
	if err != nil {
		return err
	}
	for _, e := range entries {
		content, err := cutlass.Sources.ReadFile(path.Join("src", e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.temp, "src", e.Name()), content, 0o600); err != nil {
			return err
		}
	}
	for _, c := range b.Companions {
		dir := filepath.Join(b.temp, "companions", c.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		for name, text := range c.Sources {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// key identifies an object by its whole input: the text, the headers of src and of its
// companion that it includes, flags, compilers and CUTLASS.
func (b *builder) key(t *text) string {
	h := sha256.New()
	add := func(what, content string) { fmt.Fprintf(h, "%s %d\n%s\n", what, len(content), content) }
	add("tools", b.tools.identity)
	add("cutlass", cutlassWheels.requirements)
	add("flags", strings.Join(t.flags, "\n"))
	add("text", t.source)
	headers := map[string]string{}
	includes(t.source, t.own, headers)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		add(name, headers[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:40]
}

var include = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]`)

// includes collects the files of own and of src that a text includes, directly or indirectly.
func includes(source string, own, found map[string]string) {
	for _, m := range include.FindAllStringSubmatch(source, -1) {
		name := m[1]
		if _, ok := found[name]; ok {
			continue
		}
		content, ok := own[name]
		if !ok {
			b, err := cutlass.Sources.ReadFile(path.Join("src", name))
			if err != nil {
				continue // a header of CUDA, CUTLASS or the system, covered by other parts of the key
			}
			content = string(b)
		}
		found[name] = content
		includes(content, own, found)
	}
}
