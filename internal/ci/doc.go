// Package ci has the tests of .ci/run that are not those of a package.
package ci
