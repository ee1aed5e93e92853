package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a model without weights. Each byte of a text is a token. The vector of a text is
// its first token, its number of tokens and the sum of its tokens.
type fake struct {
	delay time.Duration // duration of a batch
	gate  chan struct{} // if not nil, Embed starts by receiving from it
	words chan struct{} // if not nil, Tokenize starts by receiving from it
	err   error         // returned by Embed

	tokenizing atomic.Int64 // calls of Tokenize so far

	mu   sync.Mutex
	seen [][]int32
}

func (f *fake) Tokenize(text string) (ids []int32, err error) {
	f.tokenizing.Add(1)
	if f.words != nil {
		<-f.words
	}
	for _, b := range []byte(text[:min(len(text), f.MaxTokens())]) {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

func (f *fake) Embed(ctx context.Context, texts [][]int32) (out [][]float32, err error) {
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	time.Sleep(f.delay)
	f.mu.Lock()
	f.seen = append(f.seen, texts...)
	f.mu.Unlock()
	for _, ids := range texts {
		out = append(out, vectorOf(ids))
	}
	return out, f.err
}

func vectorOf(ids []int32) []float32 {
	sum := float32(0)
	for _, id := range ids {
		sum += float32(id)
	}
	if ids[0] == 255 {
		sum = float32(math.NaN())
	}
	return []float32{float32(ids[0]), float32(len(ids)), sum}
}

func (f *fake) Size() int       { return 3 }
func (f *fake) MaxTokens() int  { return 40 }
func (f *fake) Vocabulary() int { return 256 }

var fakeConfig = config{name: "fake", maxItems: 8, maxInputs: 16, queue: 32, linger: time.Millisecond, drain: 20 * time.Second}

// post sends a request's body and returns status, answer and headers.
func post(t *testing.T, h http.Handler, body string) (int, map[string]any, http.Header) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/embeddings", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	return do(t, h, r)
}

func do(t *testing.T, h http.Handler, r *http.Request) (int, map[string]any, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Errorf("the answer %q is not JSON: %v", w.Body, err)
	}
	if kind := w.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type %q", kind)
	}
	return w.Code, answer, w.Header()
}

func TestEmbeddings(t *testing.T) {
	h := newServer(&fake{}, fakeConfig).handler()
	for _, c := range []struct{ input, want string }{
		{`"ab"`, "97,2,195"},
		{`["ab", "c", "ab"]`, "97,2,195 99,1,99 97,2,195"},
		{" [ \n\t \"ab\"]", "97,2,195"},
		{strings.Repeat(" ", 100) + "[" + strings.Repeat(" ", 100) + `"ab"]`, "97,2,195"},
		{`[7, 8]`, "7,2,15"},
		{`[[7, 8], [9]]`, "7,2,15 9,1,9"},
		{`"` + strings.Repeat("a", 100) + `"`, "97,40,3880"}, // cut by the model
		{`"\u0061"`, "97,1,97"},
	} {
		for _, format := range []string{"", "float", "base64"} {
			body := fmt.Sprintf(`{"model": "fake", "input": %s, "encoding_format": %q, "dimensions": 3, "user": 7, "other": {}}`, c.input, format)
			status, answer, _ := post(t, h, body)
			if status != http.StatusOK || answer["object"] != "list" || answer["model"] != "fake" {
				t.Errorf("%s: %d %v", body, status, answer)
				continue
			}
			var got []string
			tokens := 0.0
			for i, d := range answer["data"].([]any) {
				d := d.(map[string]any)
				if d["object"] != "embedding" || d["index"] != float64(i) {
					t.Errorf("%s: element %d is %v", body, i, d)
				}
				v := decodeVector(t, d["embedding"], format)
				got = append(got, fmt.Sprintf("%v,%v,%v", v[0], v[1], v[2]))
				tokens += float64(v[1])
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %v, want %s", body, got, c.want)
			}
			if usage := answer["usage"].(map[string]any); usage["prompt_tokens"] != tokens || usage["total_tokens"] != tokens {
				t.Errorf("%s: usage %v, want %v", body, usage, tokens)
			}
		}
	}
}

func decodeVector(t *testing.T, v any, format string) []float32 {
	t.Helper()
	out := make([]float32, 3)
	if format == "base64" {
		data, err := base64.StdEncoding.DecodeString(v.(string))
		if err == nil {
			err = binary.Read(bytes.NewReader(data), binary.LittleEndian, out)
		}
		if err != nil || len(data) != 12 {
			t.Errorf("%v: %v", v, err)
		}
		return out
	}
	list := v.([]any)
	if len(list) != 3 {
		t.Errorf("%v", v)
	}
	for i, x := range list {
		out[i] = float32(x.(float64))
	}
	return out
}

func TestWrongRequests(t *testing.T) {
	m := &fake{}
	h := newServer(m, fakeConfig).handler()
	input := func(v string) string { return `{"model":"fake","input":` + v + `}` }
	many := func(v string) string { return "[" + strings.TrimSuffix(strings.Repeat(v+",", 17), ",") + "]" }
	for _, c := range []struct {
		body   string
		status int
		param  any
	}{
		{``, 400, nil},
		{`{`, 400, nil},
		{`null`, 400, "model"},
		{`[]`, 400, nil},
		{`"text"`, 400, nil},
		{`{"model":"fake","input":"a"} {}`, 400, nil},
		{`{"model":"fake","input":"a",}`, 400, nil},
		{`{"model":7,"input":"a"}`, 400, "model"},
		{`{"input":"a"}`, 400, "model"},
		{`{"model":"other","input":"a"}`, 404, "model"},
		{`{"model":"fake"}`, 400, "input"},
		{`{"model":"fake","input":"a","encoding_format":"hex"}`, 400, "encoding_format"},
		{`{"model":"fake","input":"a","encoding_format":1}`, 400, "encoding_format"},
		{`{"model":"fake","input":"a","dimensions":4}`, 400, "dimensions"},
		{`{"model":"fake","input":"a","dimensions":"3"}`, 400, "dimensions"},
		{input(`null`), 400, "input"},
		{input(`7`), 400, "input"},
		{input(`true`), 400, "input"},
		{input(`{"a":"b"}`), 400, "input"},
		{input(`""`), 400, "input"},
		{input(`[]`), 400, "input"},
		{input(`[[]]`), 400, "input"},
		{input(`["a",""]`), 400, "input"},
		{input(`["a",null]`), 400, "input"},
		{input(`["a",1]`), 400, "input"},
		{input(`[null]`), 400, "input"},
		{input(`[1,"a"]`), 400, "input"},
		{input(`[1,null]`), 400, "input"},
		{input(`[[1],null]`), 400, "input"},
		{input(`[[1],2]`), 400, "input"},
		{input(`[["a"]]`), 400, "input"},
		{input(`[1.5]`), 400, "input"},
		{input(`[-1]`), 400, "input"},
		{input(`[256]`), 400, "input"},
		{input(`[99999999999]`), 400, "input"},
		{input(`[` + strings.Repeat("1,", 40) + `1]`), 400, "input"}, // 41 tokens
		{input(strings.Repeat("[", 100000)), 400, nil},
		{input(many(`"a"`)), 413, "input"},
		{input(many(`[1]`)), 413, "input"},
		{input(`"` + strings.Repeat("a", maxBody) + `"`), 413, nil},
		{strings.Repeat("x", 10<<20), 413, nil},
		{input(`"` + strings.Repeat("a", 10<<20) + `"`), 413, nil},
	} {
		status, answer, _ := post(t, h, c.body)
		e, _ := answer["error"].(map[string]any)
		if status != c.status || e["param"] != c.param || e["type"] != "invalid_request_error" || e["message"] == "" {
			t.Errorf("%.80s: %d %v, want %d and param %v", c.body, status, answer, c.status, c.param)
		}
		if _, ok := e["code"]; !ok || c.status == 404 && e["code"] != "model_not_found" {
			t.Errorf("%.80s: code %v", c.body, e["code"])
		}
	}
	if len(m.seen) > 0 {
		t.Errorf("the model got %v", m.seen)
	}
}

func TestRoutes(t *testing.T) {
	h := newServer(&fake{}, fakeConfig).handler()
	for _, c := range []struct {
		method, path, kind, coding string
		status                     int
	}{
		{"GET", "/healthz", "", "", 200},
		{"GET", "/", "", "", 404},
		{"POST", "/v1/completions", "application/json", "", 404},
		{"POST", "/healthz", "", "", 404},
		{"GET", "/v1/embeddings", "", "", 405},
		{"POST", "/v1/embeddings", "", "", 415},
		{"POST", "/v1/embeddings", "text/plain", "", 415},
		{"POST", "/v1/embeddings", "application/json", "gzip", 415},
		{"POST", "/v1/embeddings", "application/json", "identity", 200},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(`{"model":"fake","input":"a"}`))
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("Content-Encoding", c.coding)
		if status, answer, _ := do(t, h, r); status != c.status || (status == 200) != (answer["error"] == nil) {
			t.Errorf("%s %s %s: %d %v, want %d", c.method, c.path, c.kind, status, answer, c.status)
		}
	}
}

// TestLongBody sends 10 MB over a connection. The client has to be able to read the answer.
func TestLongBody(t *testing.T) {
	web := httptest.NewServer(newServer(&fake{}, fakeConfig).handler())
	defer web.Close()
	for range 5 {
		a, err := web.Client().Post(web.URL+"/v1/embeddings", "application/json", bytes.NewReader(make([]byte, 10<<20)))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Error struct{ Message string } }
		err = errors.Join(json.NewDecoder(a.Body).Decode(&answer), a.Body.Close())
		if err != nil || a.StatusCode != http.StatusRequestEntityTooLarge || answer.Error.Message == "" {
			t.Error(a.Status, answer, err)
		}
	}
}

// TestModelFails checks that clients get no details of an internal error.
func TestModelFails(t *testing.T) {
	for name, c := range map[string]struct{ m *fake }{
		"error": {&fake{err: errors.New("secret")}},
		"NaN":   {&fake{}},
	} {
		h := newServer(c.m, fakeConfig).handler()
		status, answer, _ := post(t, h, `{"model":"fake","input":[255]}`)
		if status != http.StatusInternalServerError || strings.Contains(fmt.Sprint(answer), "secret") || answer["error"] == nil {
			t.Errorf("%s: %d %v", name, status, answer)
		}
	}
}

// TestQueueFull fills the queue. A request that finds it full is answered 429, and none of
// its texts stays in the queue.
func TestQueueFull(t *testing.T) {
	m := &fake{gate: make(chan struct{})}
	c := fakeConfig
	c.maxItems, c.maxInputs, c.queue = 1, 4, 4
	s := newServer(m, c)
	h := s.handler()
	var wg sync.WaitGroup
	for i := range 4 { // one runs, three wait
		wg.Go(func() {
			if status, answer, _ := post(t, h, `{"model":"fake","input":"a"}`); status != http.StatusOK {
				t.Error(status, answer)
			}
		})
		waitFor(t, func() bool { now := s.texts.Stats(); return now.Running == 1 && now.Queued == i })
	}
	status, answer, header := post(t, h, `{"model":"fake","input":["x","y","z"]}`)
	if status != http.StatusTooManyRequests || header.Get("Retry-After") != "1" || answer["error"].(map[string]any)["code"] != "queue_full" {
		t.Error(status, answer, header)
	}
	if now := s.texts.Stats(); now.Queued != 3 {
		t.Errorf("%d texts wait, want 3", now.Queued)
	}
	close(m.gate)
	wg.Wait()
	if fmt.Sprint(m.seen) != "[[97] [97] [97] [97]]" {
		t.Errorf("the model got %v", m.seen)
	}
}

// TestFlood sends many texts at once while the tokenizer is slow. No more than the places of
// the server are tokenized: the others are answered 429 before.
func TestFlood(t *testing.T) {
	const requests = 50
	m := &fake{words: make(chan struct{})}
	c := fakeConfig
	c.maxItems, c.maxInputs, c.queue = 2, 4, 5
	s := newServer(m, c)
	h := s.handler()
	var wg sync.WaitGroup
	var accepted, refused atomic.Int64
	for range requests {
		wg.Go(func() {
			switch status, answer, _ := post(t, h, `{"model":"fake","input":"`+strings.Repeat("long ", 1000)+`"}`); status {
			case http.StatusOK:
				accepted.Add(1)
			case http.StatusTooManyRequests:
				refused.Add(1)
			default:
				t.Error(status, answer)
			}
		})
	}
	end := time.Now().Add(time.Minute)
	for refused.Load() < requests-7 && m.tokenizing.Load() <= 7 && time.Now().Before(end) {
		time.Sleep(time.Millisecond)
	}
	if n := m.tokenizing.Load(); n > 7 || refused.Load() != requests-7 {
		t.Errorf("%d texts are being tokenized and %d are refused; there are 7 places for %d", n, refused.Load(), requests)
	}
	close(m.words)
	wg.Wait()
	if n := m.tokenizing.Load(); n != 7 || accepted.Load() != 7 {
		t.Errorf("%d texts were tokenized and %d answered, want 7", n, accepted.Load())
	}
	// The places are free again, whatever became of the requests that had them.
	for _, body := range []string{`"a"`, `["a","b","c","d"]`, `[999]`, `["a",""]`} {
		post(t, h, `{"model":"fake","input":`+body+`}`)
	}
	if s.places.free != 7 {
		t.Errorf("%d places are free, want 7", s.places.free)
	}
	if status, answer, _ := post(t, h, `{"model":"fake","input":["a","b","c","d"]}`); status != http.StatusOK {
		t.Error(status, answer)
	}
}

// TestHangUp checks that texts of a client that has gone are not computed.
func TestHangUp(t *testing.T) {
	m := &fake{gate: make(chan struct{})}
	s := newServer(m, fakeConfig)
	web := httptest.NewServer(s.handler())
	defer web.Close()
	send := func(ctx context.Context, text string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL+"/v1/embeddings", strings.NewReader(`{"model":"fake","input":["`+text+`","`+text+`"]}`))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		a, err := web.Client().Do(r)
		if err != nil {
			return err
		}
		return errors.Join(drain(a), a.Body.Close())
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := send(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	})
	waitFor(t, func() bool { return s.texts.Stats().Running == 2 })
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		if err := send(ctx, "b"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	waitFor(t, func() bool { return s.texts.Stats().Queued == 2 })
	cancel()
	waitFor(t, func() bool { return s.texts.Stats().Left == 2 })
	close(m.gate)
	wg.Wait()
	if fmt.Sprint(m.seen) != "[[97] [97]]" {
		t.Errorf("the model got %v", m.seen)
	}
	waitFor(t, func() bool {
		scraped := get(t, web.URL+"/metrics")
		return strings.Contains(scraped, `embedding_requests_total{status="499"} 1`) && strings.Contains(scraped, `embedding_requests_total{status="200"} 1`)
	})
}

func TestMetrics(t *testing.T) {
	h := newServer(&fake{}, fakeConfig).handler()
	for _, body := range []string{`{"model":"fake","input":["abc","de"]}`, `{"model":"fake","input":"f"}`, `{`} {
		post(t, h, body)
	}
	web := httptest.NewServer(h)
	defer web.Close()
	scraped := get(t, web.URL+"/metrics")
	for _, want := range []string{
		`embedding_requests_total{status="200"} 2`, `embedding_requests_total{status="400"} 1`, `embedding_request_seconds_count 3`,
		`embedding_tokens_total 6`, `gpk_batch_items_total{batcher="texts",outcome="done"} 3`, `gpk_batch_size_sum{batcher="texts"} 3`,
	} {
		if !strings.Contains(scraped, want+"\n") {
			t.Errorf("%s is not in\n%s", want, scraped)
		}
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{
		{"-queue", "10"}, {"-max-items", "0"}, {"-max-inputs", "0"}, {"-linger", "-1s"}, {"-drain", "-1s"}, {"-notice", "-1s"}, {"-linger", "1"}, {"more"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	c, err := parse([]string{"-model", "some/model/", "-queue", "300"})
	if err != nil || c.name != "model" || c.queue != 300 {
		t.Error(c, err)
	}
	for _, args := range [][]string{{}, {"-model", "testdata/none"}, {"-model", "x", "-device", "abacus"}, {"-model", "x", "-dtype", "fp64"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("run(%q) does not fail", args)
		}
	}
}

// FuzzTokens checks that any input is an error for the client, or tokens that the model can
// compute.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{`"a"`, `["a","b"]`, `[1,2]`, `[[1],[2,3]]`, `[null]`, `[[]]`, ` [ [`, `{}`, `[1e2]`} {
		f.Add(s)
	}
	s := newServer(&fake{}, fakeConfig)
	f.Fuzz(func(t *testing.T, input string) {
		if !json.Valid([]byte(input)) {
			return
		}
		in, err := s.readInputs(json.RawMessage(input))
		var ids [][]int32
		if err == nil {
			ids, err = s.tokens(t.Context(), in)
		}
		if _, ok := errors.AsType[*apiError](err); err != nil && !ok {
			t.Fatal(err)
		}
		if err == nil && (len(ids) == 0 || len(ids) > fakeConfig.maxInputs || slices.ContainsFunc(ids, func(r []int32) bool { return len(r) == 0 || len(r) > 40 })) {
			t.Fatalf("%s: %v", input, ids)
		}
	})
}

func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited for a minute")
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	a, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func drain(a *http.Response) error {
	_, err := io.Copy(io.Discard, a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = errors.New(a.Status)
	}
	return err
}
