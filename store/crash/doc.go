// Package crash lets a test kill this process at a named point of its work, as a
// power cut would: with the build tag crashpoints, PARKADE_CRASH=name@n ends it by
// SIGKILL at the n-th passage of the point. Without the tag nothing of it is left.
package crash
