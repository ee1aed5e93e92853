package array

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// line returns the place of its caller, which it takes from the runtime.
func line() string {
	_, file, n, _ := runtime.Caller(1)
	return filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file) + ":" + fmt.Sprint(n)
}
