// Package scene serves SceneService: Danger World play as an aggregate that borrows the sheets of those present and gives
// them back as play left them. The rules are those of package dangerworld; here are messages, roles, and the borrowing.
package scene
