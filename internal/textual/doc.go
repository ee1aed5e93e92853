// Package textual prints numbers and nested brackets as NumPy does. It knows
// element types, and no arrays.
package textual
