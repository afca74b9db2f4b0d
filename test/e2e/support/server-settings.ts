/** The settings of a coderd without internet access, with external daemons and short intervals. */
export const serverSettings: Readonly<Record<string, string>> = {
  CODER_PROVISIONER_DAEMONS: "0",
  CODER_TELEMETRY_ENABLE: "false",
  CODER_UPDATE_CHECK: "false",
  CODER_DERP_SERVER_STUN_ADDRESSES: "disable",
  CODER_PROXY_HEALTH_INTERVAL: "2s",
};
