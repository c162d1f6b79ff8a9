// Shows who has logged in, above the documentation. The try-out sends the session by itself.
(async () => {
  const answer = await fetch('login/session', { cache: 'no-store' });
  if (!answer.ok) return;
  const { principal } = await answer.json();
  const bar = document.createElement('div');
  bar.id = 'login';
  bar.style.cssText = 'padding: .5rem 1rem; font-family: sans-serif; text-align: right';
  if (principal) {
    const button = document.createElement('button');
    button.id = 'logout';
    button.textContent = 'Log out';
    button.style.marginLeft = '1rem';
    button.onclick = async () => {
      await fetch('logout', { method: 'POST', redirect: 'manual' });
      location.reload();
    };
    bar.append(`Logged in as ${principal}`, button);
  } else {
    const link = document.createElement('a');
    link.id = 'log-in';
    link.href = 'login?return=' + encodeURIComponent('/docs' + location.search + location.hash);
    link.textContent = 'Log in';
    bar.append(link);
  }
  document.body.prepend(bar);
})();
