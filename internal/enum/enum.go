// Package enum names the values of types that count from 0.
package enum

import "fmt"

// Name returns the name of v, or the name of its type and its number if it has none.
func Name[T ~uint8](v T, kind string, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, v)
}
