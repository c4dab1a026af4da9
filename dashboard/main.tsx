import './styles/tokens.css';
import './styles/base.css';
import './styles/layout.css';
import './styles/parts.css';
import './styles/pages.css';
import './styles/lab.css';
import 'uplot/dist/uPlot.min.css';
import { render } from 'preact';
import { App } from './app';

const place = document.getElementById('app');
if (place !== null) render(<App />, place);
