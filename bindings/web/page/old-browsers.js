// Of a browser that cannot read the other scripts: plain words, in plain old language.
window.addEventListener('error', function (event) {
  var place = document.querySelector('#view .waiting');
  if (place && !document.documentElement.getAttribute('data-ready')) place.textContent =
      'This browser cannot run the page (' + (event.message || 'a script does not load') + '). It needs one of 2023 or later: Chromium 97, Firefox 113, Safari 16.4.';
}, true);
