'use strict';
// A page that is loaded again has its token in this tab alone.
const token = sessionStorage.getItem('tw-token');
if (token) {
  location.replace('/?token=' + encodeURIComponent(token));
}
