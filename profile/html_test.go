package profile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pages returns reports that the page must display well, by name.
func pages(t *testing.T) map[string]func(b *bytes.Buffer) error {
	random := newRandom(t, 37)
	full := makeReport(random, generated{steps: 60, devices: 2, slower: 1.4})
	before := makeReport(random, generated{steps: 60, devices: 2})
	cpu, bad := makeReport(random, generated{steps: 20}), hostile(random)
	big := makeReport(random, generated{steps: 4000, devices: 4})
	return map[string]func(*bytes.Buffer) error{
		"full":    func(b *bytes.Buffer) error { return full.WriteHTML(b, Against(before, DefaultThreshold)) },
		"cpu":     func(b *bytes.Buffer) error { return cpu.WriteHTML(b) },
		"hostile": func(b *bytes.Buffer) error { return bad.WriteHTML(b, Against(bad, DefaultThreshold)) },
		"empty":   func(b *bytes.Buffer) error { return (&Report{}).WriteHTML(b, Against(&Report{}, 0)) },
		"big":     func(b *bytes.Buffer) error { return big.WriteHTML(b) },
	}
}

// TestHTML checks that each section is there if it has something to show, that the page loads nothing from elsewhere,
// and that no text of a report is markup.
func TestHTML(t *testing.T) {
	sections := map[string][]string{
		"full":    {"comparison", "bottlenecks", "advice", "operations", "timeline", "memory", "transfers", "spans", "allocations"},
		"cpu":     {"bottlenecks", "advice", "operations", "timeline", "memory", "spans", "allocations"},
		"hostile": {"comparison", "bottlenecks", "advice", "operations", "timeline", "memory", "transfers", "spans", "allocations"},
		"empty":   {"comparison", "bottlenecks", "advice", "operations", "timeline"},
		"big":     {"bottlenecks", "advice", "operations", "timeline", "memory", "transfers", "spans", "allocations"},
	}
	outside := regexp.MustCompile(`(?i)(src|href|action|data)\s*=\s*["'](?:[^#"'])|@import|url\(|https?:`)
	for name, write := range pages(t) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		html := b.String()
		var got []string
		for _, m := range regexp.MustCompile(`<section id="([a-z]+)"`).FindAllStringSubmatch(html, -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != strings.Join(sections[name], " ") {
			t.Errorf("%s: sections %v, want %v", name, got, sections[name])
		}
		if m := outside.FindString(html); m != "" {
			t.Errorf("%s: refers to another file: %q", name, m)
		}
		if n, m := strings.Count(strings.ToLower(html), "<script"), strings.Count(strings.ToLower(html), "</script"); n != 2 || m != 2 {
			t.Errorf("%s: %d scripts begin and %d end, want 2 and 2", name, n, m)
		}
		if strings.Contains(html, "<img") || strings.Contains(html, "ZgotmplZ") {
			t.Errorf("%s: markup of a name, or a value that the template refused", name)
		}
		t.Logf("%s: %d bytes", name, b.Len())
	}
}

// use works the page as a reader does, and marks what came of it.
const use = `
(function use() {
  const key = (k) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true }));
  const root = document.documentElement, canvas = document.getElementById("tracks");
  const table = document.querySelector("#operations table");
  if (table) {
    const column = () => Array.from(table.tBodies[0].rows, (r) => r.cells[2].dataset.sort).join(",");
    const head = table.tHead.rows[0].cells[2].querySelector("button");
    head.click();
    root.dataset.descending = column();
    head.click();
    root.dataset.ascending = column();
  }
  for (const b of document.querySelectorAll("button.all")) b.click();
  if (canvas) {
    const out = document.getElementById("event");
    key("n");
    root.dataset.first = out.textContent;
    key("p");
    root.dataset.last = out.textContent;
    for (const k of ["ArrowUp", "ArrowUp", "+", "ArrowRight", "ArrowLeft", "ArrowDown", "-", "Home", "0", "n", "q"]) key(k);
    for (const ctrlKey of [true, false]) canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -400, ctrlKey, cancelable: true }));
    for (const id of ["zoom-in", "zoom-out", "whole"]) document.getElementById(id).click();
    const r = canvas.getBoundingClientRect();
    for (let y = 0; y < r.height; y += 7) {
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + r.width / 3, clientY: r.top + y }));
      canvas.dispatchEvent(new MouseEvent("dblclick", { clientX: r.left + r.width / 3, clientY: r.top + y }));
    }
    dispatchEvent(new Event("beforeprint"));
    root.dataset.printTheme = root.dataset.theme;
    dispatchEvent(new Event("afterprint"));
  }
  const themes = [];
  for (let i = 0; i < 3; i++) {
    document.getElementById("theme").click();
    themes.push(getComputedStyle(document.body).backgroundColor);
  }
  root.dataset.themes = themes.join(" ");
  root.dataset.used = "true";
})();
`

// TestBrowser loads pages in Chromium, works them, and fails on an error of the console.
func TestBrowser(t *testing.T) {
	browser := findBrowser(t)
	script := pageScript + timelineScript
	for name, write := range pages(t) {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			// The page alone, and with a script that uses it.
			plain := b.String()
			used := strings.Replace(plain, script, script+use, 1)
			used = strings.Replace(used, htmlEscaped(policy(script)), htmlEscaped(policy(script+use)), 1)
			for _, html := range []string{plain, used} {
				checkLoaded(t, load(t, browser, html), html != plain, name)
			}
		})
	}
	t.Run("an error is found", func(t *testing.T) {
		if _, console := loadPage(t, browser, `<script>throw new Error("on purpose")</script>`); !strings.Contains(console, "on purpose") {
			t.Errorf("console: %q", console)
		}
	})
}

// TestScreenshots draws the full page as the system's theme says, light and dark: both show many colors, the dark one
// on a darker background. GPK_SCREENSHOTS names a folder that keeps the pictures of all pages.
func TestScreenshots(t *testing.T) {
	browser := findBrowser(t)
	keep := os.Getenv("GPK_SCREENSHOTS")
	for name, write := range pages(t) {
		if name != "full" && keep == "" {
			continue
		}
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		var light [2]float64
		for i, theme := range []string{"light", "dark"} {
			system := fmt.Sprintf("--blink-settings=preferredColorScheme=%d", 1-i)
			file := filepath.Join(t.TempDir(), name+"-"+theme+".png")
			if keep != "" {
				file = filepath.Join(keep, filepath.Base(file))
			}
			if _, console := runBrowser(t, browser, b.String(), system, "--screenshot="+file, "--window-size=1280,3600", "--hide-scrollbars"); console != "" {
				t.Errorf("%s: the browser's console: %s", file, console)
			}
			var colors int
			colors, light[i] = lookAt(t, file)
			if name == "full" && colors < 100 {
				t.Errorf("%s has %d colors", file, colors)
			}
		}
		if light[0] < 0.7 || light[1] > 0.3 {
			t.Errorf("%s: mean brightness %.2f light and %.2f dark", name, light[0], light[1])
		}
	}
}

// lookAt returns the number of colors in a picture, and its mean brightness.
func lookAt(t *testing.T, file string) (colors int, brightness float64) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	seen, r := map[color.Color]bool{}, img.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y += 2 {
		for x := r.Min.X; x < r.Max.X; x += 2 {
			c := img.At(x, y)
			seen[c] = true
			brightness += float64(color.Gray16Model.Convert(c).(color.Gray16).Y) / 65535
		}
	}
	return len(seen), brightness / float64((r.Dx()+1)/2*((r.Dy()+1)/2))
}

// findBrowser returns the path of a browser, or skips the test.
func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("NOT run: no chromium, chromium-browser or google-chrome on PATH")
	return ""
}

// htmlEscaped writes a policy as the template does in an attribute.
func htmlEscaped(s string) string {
	return strings.NewReplacer("'", "&#39;", "+", "&#43;").Replace(s)
}

// load returns the attributes that the page's script has set.
func load(t *testing.T, browser, html string) map[string]string {
	t.Helper()
	dom, console := loadPage(t, browser, html)
	if console != "" {
		t.Errorf("the browser's console: %s", console)
	}
	marks := map[string]string{}
	for _, m := range regexp.MustCompile(`data-([a-z-]+)="([^"]*)"`).FindAllStringSubmatch(regexp.MustCompile(`<html[^>]*>`).FindString(dom), -1) {
		marks[m[1]] = m[2]
	}
	return marks
}

// loadPage runs the browser and returns the page's DOM and the lines of its console.
func loadPage(t *testing.T, browser, html string) (dom, console string) {
	t.Helper()
	return runBrowser(t, browser, html, "--dump-dom")
}

// runBrowser runs the browser on a page, and returns its output and the lines of its console.
func runBrowser(t *testing.T, browser, html string, args ...string) (out, console string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args = append([]string{"--headless", "--disable-gpu", "--user-data-dir=" + filepath.Join(dir, "user"), "--enable-logging=stderr", "--timeout=240000"}, append(args, "file://"+file)...)
	if os.Geteuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...) // which Chromium demands of root
	}
	cmd := exec.CommandContext(ctx, browser, args...)
	cmd.WaitDelay = 10 * time.Second
	var printed, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, &log)
	}
	var lines []string
	for line := range strings.SplitSeq(log.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			lines = append(lines, line)
		}
	}
	return printed.String(), strings.Join(lines, "\n")
}

func checkLoaded(t *testing.T, marks map[string]string, used bool, name string) {
	t.Helper()
	events, err := strconv.Atoi(marks["events"])
	if marks["ready"] != "true" || marks["error"] != "" || err != nil || (events > 0) != (name != "empty") {
		t.Fatalf("marks of the page: %v, %v", marks, err)
	}
	if name == "full" && (events != 2188 || marks["tracks"] != "6") {
		t.Errorf("%v events on %s tracks", events, marks["tracks"])
	}
	if !used {
		t.Logf("%d events, painted in %s ms", events, marks["paint-ms"])
		return
	}
	themes := strings.Split(marks["themes"], " rgb")
	if marks["used"] != "true" || len(themes) != 3 || themes[0] == "rgb"+themes[1] {
		t.Errorf("marks of a used page: %v", marks)
	}
	if name == "empty" {
		return
	}
	if marks["print-theme"] != "light" || !strings.Contains(marks["first"], ", from ") || marks["first"] == marks["last"] {
		t.Errorf("marks of a used page: %v", marks)
	}
	if err := errors.Join(inOrder(marks["descending"], -1), inOrder(marks["ascending"], 1)); err != nil {
		t.Error(err)
	}
}

// inOrder checks that numbers ascend, or descend for a sign of -1.
func inOrder(list string, sign float64) error {
	last := -1e300
	for s := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || v*sign < last {
			return errors.New("out of order: " + list)
		}
		last = v * sign
	}
	return nil
}
