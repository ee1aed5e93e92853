// Package ci has the tests of .ci/run that do not belong to a package.
package ci
