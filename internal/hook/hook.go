// Package hook passes functions of package device, which does not export them, to the
// packages internal/deviceapi and internal/devicetest, which give them their types. Each
// variable is set when package device is initialized.
package hook

// Functions and methods (the receiver first) of package device.
var (
	NewFake           any
	NewFakeQueued     any
	NewFakeWithCode   any
	FailLaunches      any
	Collect           any
	AwaitCompiled     any
	WatchWithin       any
	HostRoom          any
	BlockSize         any
	AllocMapped       any
	AllocExposed      any
	Hold              any
	Free              any
	NewEvents         any
	CopyFromHostUntil any
	FetchUntil        any
	CompileImage      any
	RuntimeCompiler   any
	CompileLater      any
	CompilerVersion   any
	Exposable         any
	Fresh             any
	CheckOnce         any
	Closed            any
	Call              any
	Queue             any
	Sequence          any
	WaitSequence      any
	Follow            any
	Observe           any
)
