// Package parkade holds the vocabulary of the product and its pure rules.
package parkade
