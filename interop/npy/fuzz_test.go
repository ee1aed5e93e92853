package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
)

// FuzzHeader reads any text as a header's dictionary. A header that is accepted is
// written again as NumPy would, with the same meaning.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", `{"shape":(),"fortran_order":True,"descr":"|b1"}`, "{'descr': '>c16', 'fortran_order': False, 'shape': (3L,), }\n",
		"{'descr': '<V2', 'fortran_order': False, 'shape': (4,)}", "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", "{'descr': '=i8', 'shape': (0, 9000000000000000000), 'fortran_order': True}", "{", "{}", "{'descr': '<f4'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse(text)
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, gpk.ErrDType) && !errors.Is(err, gpk.ErrUnsupported) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		size := 1
		for _, n := range d.shape {
			if n < 0 || len(d.shape) > maxAxes {
				t.Fatalf("%q: %v", text, d.shape)
			}
			size *= n // wraps as d.size must not
		}
		if size != d.size || d.size < 0 || !d.dt.Valid() {
			t.Fatalf("%q: %+v", text, d)
		}
		h, err := Header(d.dt, d.shape...)
		if errors.Is(err, gpk.ErrDType) && d.dt == gpk.BFloat16 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := readHeader(bytes.NewReader(h))
		if err != nil || again.dt != d.dt || !slices.Equal(again.shape, d.shape) || again.fortran || again.swap {
			t.Fatalf("%q became %q: %+v, %v", text, h, again, err)
		}
	})
}

// FuzzZip reads archives whose structure and checksums are right and whose members
// are anything.
func FuzzZip(f *testing.F) {
	good, err := Header(gpk.Float32, 2)
	if err != nil {
		f.Fatal(err)
	}
	good = append(good, make([]byte, 8)...)
	f.Add("x.npy", good, "y.npy", good, true)
	f.Add("x.npy", good, "x.npy", good, false)
	f.Add("../x.npy", good[:20], ".npy", append(good, 1), true)
	f.Add("x.txt", []byte("text"), "a/", []byte{}, false)
	f.Fuzz(func(t *testing.T, name1 string, data1 []byte, name2 string, data2 []byte, deflate bool) {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, m := range []struct {
			name string
			data []byte
		}{{name1, data1}, {name2, data2}} {
			h := &zip.FileHeader{Name: m.name, Method: zip.Store}
			if deflate {
				h.Method = zip.Deflate
			}
			part, err := w.CreateHeader(h)
			if err != nil {
				return
			}
			if _, err := part.Write(m.data); err != nil {
				return // a folder's name
			}
		}
		if err := w.Close(); err != nil {
			return
		}
		arrays, err := ReadZip(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, gpk.ErrDType) && !errors.Is(err, gpk.ErrUnsupported) && !errors.Is(err, gpk.ErrShape) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		for name, a := range arrays {
			if a.Err() != nil || a.NBytes() > len(data1)+len(data2) {
				t.Fatalf("%q: %d bytes, %v", name, a.NBytes(), a.Err())
			}
		}
	})
}
