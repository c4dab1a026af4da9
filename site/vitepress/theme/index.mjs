import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import VersionChoice from './version-choice.vue';

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'nav-bar-content-after': () => h(VersionChoice) }),
};
