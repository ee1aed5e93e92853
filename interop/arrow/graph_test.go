package arrow

// Arrow's module needs google.golang.org/genproto/googleapis/rpc, a module that was split off
// google.golang.org/genproto. An older version of the latter, which gorgonia.org/tensor names
// through an older Arrow, has the same packages, so that go mod tidy of a program with
// interop/gorgonia would find them twice. This import keeps a version without them in go.mod.
import _ "google.golang.org/genproto/googleapis/type/latlng"
