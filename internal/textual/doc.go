// Package textual prints numbers and nested brackets as NumPy does. It knows no
// arrays.
package textual
