package setting

import "testing"

// TestParse parses texts that switch something on or off, and invalid ones.
func TestParse(t *testing.T) {
	for want, texts := range map[bool][]string{
		true:  {"1", "t", "T", "true", "TRUE", "y", "yes", "Yes", "on", " ON "},
		false: {"", " ", "0", "f", "false", "False", "n", "no", "NO", "off"},
	} {
		for _, text := range texts {
			if on, err := Parse(text); on != want || err != nil {
				t.Errorf("%q: %v, %v; want %v", text, on, err, want)
			}
		}
	}
	for _, text := range []string{"2", "-1", "yess", "x", "1 1", "nein", "tf32"} {
		on, err := Parse(text)
		if on || err == nil {
			t.Errorf("%q: %v, %v; want an error", text, on, err)
		}
	}
	t.Setenv("GPK_EAGER", "yes")
	if !On("GPK_EAGER") {
		t.Error("yes is off")
	}
	t.Setenv("GPK_EAGER", "nothing that is known")
	if On("GPK_EAGER") {
		t.Error("what means nothing is on")
	}
}
