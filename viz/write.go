package viz

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG draws the figure as an SVG document: the same bytes from the same data.
func (f *Figure) SVG(s Style) ([]byte, error) {
	sh, err := f.layOut(newTheme(s, false))
	if err != nil {
		return nil, err
	}
	return sh.svg()
}

func (s *sheet) svg() ([]byte, error) {
	c := vgsvg.New(s.width, s.height)
	s.draw(c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	// Arial and Helvetica have the metrics of Liberation Sans, and are where it is not.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;font-variant:normal;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}

// PNG draws the figure as a bitmap at the style's resolution.
func (f *Figure) PNG(s Style) ([]byte, error) {
	sh, err := f.layOut(newTheme(s, false))
	if err != nil {
		return nil, err
	}
	return sh.png()
}

func (s *sheet) png() ([]byte, error) {
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(s.width, s.height), vgimg.UseDPI(s.th.DPI), vgimg.UseBackgroundColor(s.th.back))}
	s.draw(c)
	var b bytes.Buffer
	_, err := c.WriteTo(&b)
	return b.Bytes(), err
}

// PDF draws the figure as a PDF and says what wrote it. rsvg-convert makes it
// from the SVG, so it keeps transparency and all characters. Without it the
// plot library's own writer serves, which has neither: bands are blended
// beforehand and Greek letters spelt out.
func (f *Figure) PDF(s Style) (pdf []byte, by string, err error) {
	svg, err := f.SVG(s)
	if err != nil {
		return nil, "", err
	}
	pdf, why := rsvg(svg)
	if pdf != nil {
		return pdf, "rsvg-convert", nil
	}
	sh, err := f.layOut(newTheme(s, true))
	if err != nil {
		return nil, "", err
	}
	c := vgpdf.New(sh.width, sh.height)
	sh.draw(c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, "", err
	}
	return b.Bytes(), "gonum vgpdf, opaque and with spelt-out letters: " + why, nil
}

// rsvg converts with a fixed date, so that the same SVG gives the same PDF.
func rsvg(svg []byte) (pdf []byte, why string) {
	path, err := exec.LookPath("rsvg-convert")
	if err != nil {
		return nil, "rsvg-convert is not on PATH (Debian: librsvg2-bin)"
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-f", "pdf")
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=0")
	cmd.Stdin = bytes.NewReader(svg)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return nil, fmt.Sprintf("rsvg-convert failed: %v %s", err, strings.TrimSpace(msg.String()))
	}
	if !bytes.HasPrefix(out.Bytes(), []byte("%PDF-")) {
		return nil, "rsvg-convert wrote no PDF"
	}
	return out.Bytes(), ""
}
