// Package notation reads dice notations such as "4d6kh3+2[fire]", rolls them into a tree that tells the history of every
// die, and prints them in one canonical spelling. docs/dice.md has the grammar. Values are exact fractions.
package notation
