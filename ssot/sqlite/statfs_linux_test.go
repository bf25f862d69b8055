package sqlite

import "testing"

func TestNetworkName(t *testing.T) {
	t.Parallel()
	for magic, want := range map[int64]string{
		0x6969: "NFS", 0xff534d42: "SMB", 0xfe534d42: "SMB", 0x517b: "SMB", 0xef53: "",
		0x01021994: "", 0x9123683e: "",
	} {
		if got := networkName(magic); got != want {
			t.Errorf("networkName(%#x) = %q, want %q", magic, got, want)
		}
	}
}
