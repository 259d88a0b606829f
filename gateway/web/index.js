// The examples are for the server that shows them.
for (const place of document.querySelectorAll(".here")) {
  place.textContent = location.origin;
}
