/* In the page itself: the theme that the user chose, before the first paint. */
document.documentElement.dataset.theme = localStorage.getItem("millrace-theme") ?? "system";
