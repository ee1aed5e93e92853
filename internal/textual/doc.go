// Package textual prints numbers and nested brackets as NumPy does, and writes and reads
// elements as JSON. It knows element types, and no arrays.
package textual
