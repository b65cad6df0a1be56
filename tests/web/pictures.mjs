// Pictures of the page of 'tw web' at three sizes, for docs/web.md; 'docs/pictures/make' calls it.
//
// usage: node pictures.mjs ADDRESS DIRECTORY
// ADDRESS is what 'tw web --allow-changes' printed. TW_CHROMIUM names a browser.
import puppeteer from 'puppeteer-core';

const [address, pictures] = process.argv.slice(2);
const SIZES = [[360, 740, 'light'], [900, 700, 'dark'], [1160, 760, 'light']];

const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb', '--font-render-hinting=none'];
async function launch() {
  if (process.env.TW_CHROMIUM) return puppeteer.launch({ executablePath: process.env.TW_CHROMIUM, args });
  const { default: chromium } = await import('@sparticuz/chromium');
  return puppeteer.launch({ executablePath: await chromium.executablePath(), args, headless: 'shell' });
}

const browser = await launch();
const page = await browser.newPage();
page.setDefaultTimeout(10000);
await page.goto(address);
for (const [width, height, scheme] of SIZES) {
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
  await page.reload();
  await page.waitForSelector('.row');
  await page.focus('#list');
  // On to the prompt that changed something in several files.
  for (let tries = 0; ; tries += 1) {
    const at = await page.evaluate(() => document.querySelector('[aria-selected=true]')?.textContent ?? '');
    if (/^prompt.*make the tests pass/.test(at)) break;
    if (tries > 40) throw new Error('the prompt is not in the list');
    await page.keyboard.press('ArrowDown');
    await new Promise((done) => setTimeout(done, 100));
  }
  await page.waitForSelector('ins.l');
  await new Promise((done) => setTimeout(done, 500));
  await page.screenshot({ path: `${pictures}/web-${width}x${height}.png` });
}
await browser.close();
