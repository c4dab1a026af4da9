/**
 * The configuration of a Prometheus for a cluster on this machine: one scrape job over all operations ports, and the
 * alert rules. It is JSON, which is also YAML.
 * @param {{ targets: string[], rulesFile: string }} parts
 */
export function scrapeConfig({ targets, rulesFile }) {
  return `${JSON.stringify(
    {
      global: { scrape_interval: '5s', evaluation_interval: '5s' },
      rule_files: [rulesFile],
      scrape_configs: [{ job_name: 'quiver', static_configs: [{ targets }] }],
    },
    null,
    2,
  )}\n`;
}
