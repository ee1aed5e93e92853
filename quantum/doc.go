// Package quantum simulates parameterised circuits on many samples at once and
// computes fidelity kernels of them: K[i][j] = |<psi(x_i)|psi(y_j)>|^2.
//
//	c := quantum.ZZFeatureMap(8, 2)
//	r, err := quantum.Gram(ctx, c, x, nil, quantum.Options{})  // x [n, 8], r.K [n, n]
//	test, err := quantum.Gram(ctx, c, y, x, quantum.Options{}) // [m, n], for prediction
//
// A Circuit is a list of gates whose angles are polynomials of a sample's
// features. Wire 0 is the most significant bit of an amplitude's index. The Circuit records
// an invalid gate as an error: Err, States and Gram return it, with the gate and
// the program's line.
//
// Gates follow the usual definitions: RX, RY, RZ(t) = exp(-i t/2 X, Y, Z),
// P(t) = diag(1, e^it), RZZ(t) = exp(-i t/2 Z Z), S = P(pi/2), T = P(pi/4), SX
// the square root of X with SX SX = X exactly.
//
// Before anything runs, the circuit is compiled: gates merge, gates that cannot
// change a kernel are dropped, and unconnected groups of qubits are computed
// separately. Circuits without entanglement have a closed form. Each rule has
// its proof beside it (rules.go, tail.go, blocks.go, wire.go) and a test against the
// circuit as it was written.
//
// What belongs here: circuits, their compilation, states, Gram matrices and
// operations on those (Normalize, Center). What does not: kernel machines.
package quantum
